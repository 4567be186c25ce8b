/** The gRPC face: the verbs of `ElectionService` as `proto/tenure.proto` tells them to users. */
import { createServer } from "node:net";
import { Server, ServerCredentials, type UntypedServiceImplementation } from "@grpc/grpc-js";
import { type Clock, InvalidRequestError } from "@tenure/core";
import type { TlsFiles } from "../auth/tls-files.js";
import type { Address } from "../options.js";
import { electionMethods, MANY_BYTES } from "./election-methods.js";
import { groupMethods } from "./group-methods.js";
import type { GrpcParts } from "./grpc-parts.js";
import { loadProtoServices, type ProtoMethod, type ProtoServices } from "./proto-services.js";
import { TlsFileCredentials } from "./tls-file-credentials.js";
import { unaryHandler } from "./unary-method.js";
import { watchHandler, watchMethods } from "./watch-method.js";

/** For calls in flight on connections that close because client certificates were revoked; watches are cut off after it. */
const REVOKED_DRAIN_MS = 1000;

/** Pings find connections whose other end is gone: its watches and waiting campaigns end. */
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
  readonly #credentials: ServerCredentials;
  readonly #clock: Clock;
  #closed: Promise<void> | null = null;

  private constructor(address: string, server: Server, credentials: ServerCredentials, clock: Clock) {
    this.address = address;
    this.#server = server;
    this.#credentials = credentials;
    this.#clock = clock;
  }

  static async open({ host, port }: Address, tls: TlsFiles | null, parts: GrpcParts): Promise<GrpcServer> {
    const server = new Server(OPTIONS);
    addServices(server, await loadProtoServices(), parts);
    const name = host.includes(":") ? `[${host}]` : host;
    try {
      // grpc-js writes a line of its own to the terminal where it cannot listen, and tells less.
      if (port !== 0) await tryListen(host, port);
      const credentials =
        tls === null
          ? ServerCredentials.createInsecure()
          : new TlsFileCredentials(tls, parts.connectionLimits.handshakeMs);
      const bound = await bind(server, `${name}:${port}`, credentials);
      const address = `${name}:${bound}`;
      // Its connections cannot be told apart by their certificates. All close: callers come back by themselves.
      tls?.onRevoked(() => server.drain(address, REVOKED_DRAIN_MS));
      return new GrpcServer(address, server, credentials, parts.clock);
    } catch (cause) {
      const problem = `${name}:${port} cannot be had: ${(cause as Error).message}`;
      throw new InvalidRequestError("grpc", problem, { cause });
    }
  }

  /** Takes no more calls, waits so long for those in flight, then cuts them off. Idempotent. */
  close(drainMs = 0): Promise<void> {
    this.#closed ??= new Promise<void>((resolve) => {
      const cancelTimer = this.#clock.after(drainMs, () => {
        this.#server.forceShutdown();
        resolve();
      });
      this.#server.tryShutdown(() => {
        cancelTimer();
        resolve();
      });
    }).finally(() => {
      if (this.#credentials instanceof TlsFileCredentials) this.#credentials.close();
    });
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

function addServices(server: Server, { Election, Groups }: ProtoServices, parts: GrpcParts): void {
  for (const [methods, answers] of [
    [Election, electionMethods],
    [Groups, groupMethods],
  ] as const) {
    const definitions: Record<string, ProtoMethod["definition"]> = {};
    const handlers: UntypedServiceImplementation = {};
    for (const [name, proto] of Object.entries(methods)) {
      definitions[name] = proto.definition;
      const watch = proto.definition.responseStream ? watchMethods[name] : undefined;
      const answer = answers[name];
      if (watch !== undefined) handlers[name] = watchHandler(watch, proto, parts);
      else if (answer !== undefined) handlers[name] = unaryHandler(answer, proto, parts);
      // A mistake of ours, told at the start.
      else throw new Error(`nothing answers ${proto.definition.path}`);
    }
    server.addService(definitions, handlers);
  }
}

function bind(server: Server, target: string, credentials: ServerCredentials): Promise<number> {
  return new Promise((resolve, reject) => {
    server.bindAsync(target, credentials, (error, port) => {
      if (error === null) resolve(port);
      else reject(error);
    });
  });
}

function tryListen(host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", reject);
    probe.listen(port, host, () => probe.close(() => resolve()));
  });
}
