/** The gRPC server: the verbs of `ElectionService`, as `proto/tenure.proto` declares them. */
import type { Socket } from "node:net";
import { Server, ServerCredentials, type UntypedServiceImplementation } from "@grpc/grpc-js";
import { isUnary, type StreamVerb, VERB_NAMES, VERBS } from "@tenure/api";
import { type Clock, InvalidRequestError } from "@tenure/core";
import type { TlsFiles } from "../auth/tls-files.js";
import type { Address } from "../parsed-options.js";
import { GrpcListener } from "./grpc-listener.js";
import type { GrpcDeps } from "./grpc-deps.js";
import { healthHandlers } from "./health-methods.js";
import { HelloGate } from "../limits/hello-gate.js";
import { loadProtoServices, type ProtoMethod, type ProtoServices } from "./proto-services.js";
import { TlsFileCredentials } from "./tls-file-credentials.js";
import { MANY_BYTES, unaryHandler } from "./unary-methods.js";
import { streamHandler } from "./stream-method.js";
import { watchMethods } from "./watch-method.js";

/** Time limit of calls in flight on connections that close because client certificates were revoked. After it watches are aborted. */
const REVOKED_DRAIN_MS = 1000;

/** Pings detect connections whose client is gone, so that its watches and waiting campaigns end. */
const OPTIONS = {
  "grpc.max_receive_message_length": MANY_BYTES,
  "grpc.keepalive_time_ms": 15_000,
  "grpc.keepalive_timeout_ms": 10_000,
  "grpc.enable_channelz": 0,
};

export class GrpcServer implements AsyncDisposable {
  /** As it can be dialled: host and port. */
  readonly address: string;
  readonly #server: Server;
  readonly #listener: GrpcListener;
  readonly #credentials: ServerCredentials;
  readonly #clock: Clock;
  #closed: Promise<void> | null = null;

  private constructor(
    address: string,
    server: Server,
    listener: GrpcListener,
    credentials: ServerCredentials,
    clock: Clock,
  ) {
    this.address = address;
    this.#server = server;
    this.#listener = listener;
    this.#credentials = credentials;
    this.#clock = clock;
  }

  static async open(listen: Address, tls: TlsFiles | null, deps: GrpcDeps): Promise<GrpcServer> {
    const server = new Server(OPTIONS);
    addServices(server, await loadProtoServices(), deps);
    const name = listen.host.includes(":") ? `[${listen.host}]` : listen.host;
    const credentials =
      tls === null
        ? ServerCredentials.createInsecure()
        : new TlsFileCredentials(tls, deps.connectionLimits.handshakeMs);
    const injector = server.createConnectionInjector(credentials);
    try {
      const inject = (socket: Socket) => injector.injectConnection(socket);
      const gate = new HelloGate({
        clock: deps.clock,
        limitMs: deps.connectionLimits.handshakeMs,
        pass: inject,
      });
      const listener = await GrpcListener.open(
        listen,
        deps,
        tls === null ? inject : (socket) => gate.add(socket),
      );
      // Single connections cannot be closed by their certificate, so all of them are; clients reconnect by themselves.
      tls?.onRevoked(() => injector.drain(REVOKED_DRAIN_MS));
      return new GrpcServer(`${name}:${listener.port}`, server, listener, credentials, deps.clock);
    } catch (cause) {
      server.forceShutdown();
      const problem = `${name}:${listen.port} cannot be opened: ${(cause as Error).message}`;
      throw new InvalidRequestError("grpc", problem, { cause });
    }
  }

  /** Accepts no more calls, waits up to `drainMs` for calls in flight, then aborts them. Idempotent. */
  close(drainMs = 0): Promise<void> {
    this.#closed ??= this.#drain(drainMs).finally(() => {
      if (this.#credentials instanceof TlsFileCredentials) this.#credentials.close();
    });
    return this.#closed;
  }

  #drain(drainMs: number): Promise<void> {
    this.#listener.stop();
    // A connection closes when its last call was answered. With Node 24 the callback comes before that, so the connections are awaited.
    this.#server.tryShutdown(() => {});
    return new Promise((resolve) => {
      const cancelTimer = this.#clock.after(drainMs, () => {
        this.#server.forceShutdown();
        this.#listener.destroy();
        resolve();
      });
      void this.#listener.drained().then(() => {
        cancelTimer();
        resolve();
      });
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

function addServices(server: Server, services: ProtoServices, deps: GrpcDeps): void {
  const { Health, ...ours } = services;
  for (const [service, methods] of Object.entries(ours)) {
    const handlers: UntypedServiceImplementation = {};
    for (const name of VERB_NAMES) {
      const [of, method = ""] = VERBS[name].rpc?.split("/") ?? [];
      if (of !== service) continue;
      const proto = methods[method];
      // A mistake of ours, found at the start.
      if (proto === undefined) throw new Error(`the proto file lacks ${service}/${method}`);
      handlers[method] = isUnary(name)
        ? unaryHandler(name, proto, deps)
        : streamHandler(watchMethods[name as StreamVerb], proto, deps);
    }
    server.addService(definitionsOf(methods), handlers);
  }
  server.addService(definitionsOf(Health), healthHandlers(Health, deps));
}

function definitionsOf(
  methods: Readonly<Record<string, ProtoMethod>>,
): Record<string, ProtoMethod["definition"]> {
  return Object.fromEntries(Object.entries(methods).map(([name, { definition }]) => [name, definition]));
}
