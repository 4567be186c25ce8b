/**
 * The election service as one object: `TenureServer.open(options)` starts it, `close()` stops it.
 *
 * `open` checks the options and then builds the service from the inside out: TLS files and audit log, the authenticator, the store and
 * its elector, limits and metrics, the verbs (`ElectionService`), and at last the ports of HTTP and gRPC. If a step fails, all
 * earlier steps are undone.
 *
 * A server starts whether or not its store can be reached: it answers 503 until the store answers, and then serves without a restart.
 * A wrong option, file or credential can never work, and makes `open` reject.
 */
import type { AddressInfo } from "node:net";
import type { Server } from "node:https";
import { type Clock, InvalidRequestError, type Store, StoreElector, systemClock } from "@tenure/core";
import { within } from "@tenure/core/internal";
import { openStore } from "@tenure/stores";
import type { FastifyInstance } from "fastify";
import { type Logger, pino } from "pino";
import { openAttention } from "./attention/attention.js";
import { measuredStore } from "./attention/measured-store.js";
import { StoreMonitor } from "./attention/store-monitor.js";
import { type AuditLog, openAuditLog } from "./audit/audit-log.js";
import { AuditedAuthenticator } from "./audit/audited-authenticator.js";
import { type Authenticator, LoopbackAuthenticator } from "./auth/authenticator.js";
import { openAuthenticator } from "./auth/configured-authenticator.js";
import { isLoopback, listenDanger } from "./auth/listen-policy.js";
import { OpenRequests } from "./auth/open-requests.js";
import type { AuthDeps } from "./auth/deps.js";
import { TlsFiles } from "./auth/tls-files.js";
import { openTrustDomain } from "./auth/trust-domain.js";
import { ElectionService } from "./election-service.js";
import { extensionHost, type ServerExtension } from "./extension.js";
import type { GrpcServer } from "./grpc/grpc-server.js";
import { buildApp } from "./http/app.js";
import { LifeLog } from "./life-log.js";
import { Admission } from "./limits/admission.js";
import {
  CONNECTION_LIMITS,
  ConnectionLimit,
  type ConnectionLimits,
  defaultMaxConnections,
} from "./limits/connection-limit.js";
import { WaitingRoom } from "./limits/waiting-room.js";
import { Ed25519MandateSigner } from "./mandates/ed25519-mandate-signer.js";
import { ServiceMetrics } from "./metrics/service-metrics.js";
import type { TenureServerOptions } from "./options.js";
import { type ParsedServerOptions, parseServerOptions } from "./parsed-options.js";
import { RequestsInFlight } from "./requests-in-flight.js";
import { Activity } from "./samples/activity.js";
import { Sampler } from "./samples/sampler.js";
import { ServerInfo } from "./server-info.js";
import { Webhooks } from "./webhooks/webhooks.js";
import { StoreReports } from "./store-reports.js";

/** What a program may pass to `TenureServer.open` besides options. */
export interface TenureServerDeps {
  /** A store that the program has opened, instead of `options.store`. The program closes it. */
  readonly store?: Store;
  /** @defaultValue the machine's clock */
  readonly clock?: Clock;
  /** @defaultValue a logger that writes JSON lines to `logTo`, from `options.logLevel` on */
  readonly log?: Logger;
  /** Gets each line of the log, as JSON. @defaultValue standard error */
  readonly logTo?: { write(line: string): void };
  /** Routes to serve in addition to those of the service. */
  readonly extension?: ServerExtension;
  /** Shorter time limits of connections, for tests. */
  readonly connectionLimits?: Partial<ConnectionLimits>;
}

/** Time limit of requests in flight when the server stops. After it their connections are closed. */
const DRAIN_MS = 8000;
const SWEEP_MS = 20;
/** Time limit of writing the last log lines when the server stops. */
const LOG_MS = 2000;
/** How long a scrape waits for the store: the time limit of a scrape is often a second. */
const SCRAPE_MS = 800;
/** Length of the queue of connections to accept, as far as the system allows: after a restart all clients connect at once. */
const MAX_BACKLOG = 4096;

export class TenureServer implements AsyncDisposable {
  readonly url: string;
  readonly storeName: string;
  /** Host and port of gRPC, if it is served. */
  readonly grpcAddress: string | null;
  readonly #close: () => Promise<void>;
  readonly #audit: AuditLog;
  #closed: Promise<void> | null = null;

  private constructor(
    url: string,
    storeName: string,
    grpcAddress: string | null,
    audit: AuditLog,
    close: () => Promise<void>,
  ) {
    this.url = url;
    this.storeName = storeName;
    this.grpcAddress = grpcAddress;
    this.#audit = audit;
    this.#close = close;
  }

  static async open(given: TenureServerOptions = {}, deps: TenureServerDeps = {}): Promise<TenureServer> {
    const options = parseServerOptions(given);
    const clock = deps.clock ?? systemClock;
    // To standard error: standard output is for the messages of the command.
    const standardError = deps.log === undefined && deps.logTo === undefined ? pino.destination(2) : null;
    const log = deps.log ?? pino({ level: options.logLevel, base: null }, standardError ?? deps.logTo);
    for (const warning of checkAddresses(options)) log.warn(warning);
    const undo = new AsyncStack();
    try {
      return await start(options, { ...deps, clock, log }, undo);
    } catch (error) {
      await undo.run();
      throw error;
    }

    async function start(
      { tls, jwt, adminTokenFile, signingKey, listen, grpc, rateLimit, ...rest }: ParsedServerOptions,
      deps: TenureServerDeps & AuthDeps & { log: Logger },
      made: AsyncStack,
    ): Promise<TenureServer> {
      const tlsFiles = tls === null ? null : made.keep(await TlsFiles.open(optional(tls), deps));
      const trustDomain =
        tls === null || tlsFiles === null || tls.clientCa === null
          ? null
          : openTrustDomain(tls.trustDomain, { cert: tls.cert, files: tlsFiles }, deps.log);
      const audit = made.keep(
        openAuditLog({ file: rest.auditLog, headEverySeconds: rest.auditHeadSeconds }, deps),
      );
      let onRevoked = (): void => {};
      const authenticator: Authenticator = made.keep(
        await openAuthenticator(
          {
            clientCertificates: trustDomain !== null,
            trustDomain: trustDomain ?? undefined,
            trust: () => tlsFiles?.trust ?? null,
            adminTokenFile: adminTokenFile ?? undefined,
            jwt: jwt === null ? undefined : optional(jwt),
          },
          { ...deps, onRevoked: () => onRevoked() },
        ),
      );
      const openRequests = new OpenRequests({
        authenticator,
        clock: deps.clock,
        onCut: (caller, reason) => audit.cutOff(caller, reason),
      });
      made.push(async () => openRequests[Symbol.dispose]());
      onRevoked = () => void openRequests.check();
      tlsFiles?.onRevoked(onRevoked);
      const signer =
        signingKey === null
          ? null
          : made.keep(await Ed25519MandateSigner.open({ keyFile: signingKey }, deps));
      const reports = new StoreReports(deps.log, deps.clock);
      const store =
        deps.store ??
        made.keep(
          await openStore(rest.store, {
            ifUnreachable: "wait",
            clock: deps.clock,
            onState: (state) => reports.report(state),
          }),
        );
      const storeMonitor = new StoreMonitor(deps.clock);
      const onWrite = (tookMs: number): void => {
        storeMonitor.took(tookMs);
        metrics.observeStoreWrite(tookMs);
      };
      const elector = made.keep(
        StoreElector.open({
          store: measuredStore(store, deps.clock, onWrite),
          clock: deps.clock,
          explicitGroups: rest.explicitGroups,
          keepMembers: true,
          maxGroups: rest.maxGroups,
          maxGroupsPerNode: rest.maxGroupsPerNode,
        }),
      );
      const waiting = new WaitingRoom({
        watches: { max: rest.maxWatches, maxPerCaller: rest.maxWatchesPerCaller },
        "waiting campaigns": { max: rest.maxWaiting, maxPerCaller: rest.maxWaitingPerCaller },
      });
      const isReady = (signal?: AbortSignal) =>
        elector.ping(signal === undefined ? {} : { signal }).then(
          () => true,
          () => false,
        );
      const isReadySoon = () => within(deps.clock, { limitMs: SCRAPE_MS }, isReady);
      const connections = new ConnectionLimit(
        rest.maxConnections ?? defaultMaxConnections(),
        deps.clock,
        deps.log,
      );
      const metrics = new ServiceMetrics(isReadySoon, {
        open_connections: () => connections.count,
        open_watches: () => waiting.count("watches"),
        waiting_campaigns: () => waiting.count("waiting campaigns"),
      });
      const activity = new Activity();
      const inFlight = new RequestsInFlight();
      const stopping = new AbortController();
      made.push(async () => stopping.abort(new Error("the server is stopping")));
      const webhooks = Webhooks.open(rest.webhooks, { ...deps, metrics, signal: stopping.signal });
      const attention = openAttention({
        elector,
        clock: deps.clock,
        metrics,
        store: storeMonitor,
        certificate: () => tlsFiles?.validity ?? null,
        webhooks,
        activity,
        signal: stopping.signal,
      });
      const gauges = () => {
        const { led, vacant } = attention.groupStates;
        return {
          led,
          vacant,
          watches: waiting.count("watches"),
          waiting: waiting.count("waiting campaigns"),
        };
      };
      const isAuthenticated = !(authenticator instanceof LoopbackAuthenticator);
      const service = new ElectionService({
        elector,
        signer,
        activity,
        sampler: made.keep(new Sampler({ clock: deps.clock, activity, gauges }).start()),
        info: new ServerInfo({ clock: deps.clock, store: store.name, isAuthenticated }),
        metrics,
        audit,
        waiting,
        attention,
        clock: deps.clock,
      });
      const transportDeps = {
        service,
        admission: new Admission(new AuditedAuthenticator(authenticator, audit), rateLimit, deps.clock),
        openRequests,
        metrics,
        activity,
        inFlight,
        clock: deps.clock,
        log: deps.log,
        stopping: stopping.signal,
        isReady,
        connections,
        connectionLimits: { ...CONNECTION_LIMITS, ...deps.connectionLimits },
      };
      const app = await buildApp({
        ...transportDeps,
        tls: tlsFiles === null ? null : tlsFiles.serverOptions(),
        hostRule: {
          isAuthenticated,
          isLocal: isLoopback(listen.host),
          allowed: rest.allowedHosts,
        },
        extend: (scope) =>
          deps.extension?.mount(scope, extensionHost(metrics.registry, deps, tlsFiles, trustDomain)),
      });
      made.push(() => app.close());
      await app
        .listen({ host: listen.host, port: listen.port, backlog: MAX_BACKLOG })
        .catch((cause: unknown) => {
          const problem = `${listen.host}:${listen.port} cannot be opened: ${(cause as Error).message}`;
          throw new InvalidRequestError("listen", problem, { cause });
        });
      tlsFiles?.follow(app.server as Server);
      const grpcServer =
        grpc === null
          ? null
          : made.keep(await openGrpc(grpc, tlsFiles, { ...transportDeps, callers: new Set() }));
      const url = urlOf(app, tls !== null);
      const grpcAddress = grpcServer?.address ?? null;
      const lifeLog = new LifeLog(deps.log, { inFlight, waiting });
      lifeLog.started({
        url,
        grpcAddress,
        store: store.name,
        storeUrl: rest.store,
        isAuthenticated,
      });
      return new TenureServer(url, store.name, grpcAddress, audit, async () => {
        lifeLog.stopping();
        stopping.abort(new Error("the server is stopping"));
        const grpcClosed = grpcServer?.close(DRAIN_MS);
        await drain(app, elector, deps.clock);
        await grpcClosed;
        await made.run();
        lifeLog.stopped();
        if (standardError !== null) await written(standardError, deps.clock);
      });
    }
  }

  /** Closes the file of `auditLog` if it was renamed, and continues its hash chain in a new file of that name. */
  reopenAuditLog(): void {
    this.#audit.reopen();
  }

  /** Answers the requests in flight, ends watches with a hint when to reconnect, then closes everything. Idempotent. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** The close of the elector answers waiting campaigns. Connections that are still open after `DRAIN_MS` are closed. */
async function drain(app: FastifyInstance, elector: StoreElector, clock: Clock): Promise<void> {
  const cancel = clock.after(DRAIN_MS, () => app.server.closeAllConnections());
  // A connection becomes idle only after its last answer was sent, such as that of a watch: so this looks repeatedly.
  let cancelSweep = (): void => {};
  const sweep = () => {
    app.server.closeIdleConnections();
    cancelSweep = clock.after(SWEEP_MS, sweep);
  };
  const closed = app.close();
  sweep();
  await elector.close();
  await closed;
  cancelSweep();
  cancel();
}

/**
 * Resolves when all lines that were logged so far are written, or after `LOG_MS` if nobody reads them. Lines are written without
 * blocking the event loop; a process that exits meanwhile writes its last lines before the one that is on its way.
 */
function written(destination: ReturnType<typeof pino.destination>, clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    const cancel = clock.after(LOG_MS, resolve);
    destination.once("drain", () => {
      cancel();
      resolve();
    });
    destination.write("");
  });
}

/** The gRPC library is loaded only if gRPC is served, because loading it takes a while. */
async function openGrpc(...wanted: Parameters<typeof GrpcServer.open>): Promise<GrpcServer> {
  const loaded = await import("./grpc/grpc-server.js");
  return loaded.GrpcServer.open(...wanted);
}

/** Returns the warnings about dangerous addresses that `insecure` allows; without `insecure` the first one is refused. */
function checkAddresses({ listen, grpc, tls, jwt, adminTokenFile, insecure }: ParsedServerOptions): string[] {
  const takesTokens = jwt !== null || adminTokenFile !== null;
  const isAuthenticated = takesTokens || (tls !== null && tls.clientCa !== null);
  const warnings: string[] = [];
  for (const address of [listen, grpc]) {
    if (address === null) continue;
    const { host } = address;
    const danger = listenDanger({ host, isAuthenticated, takesTokens, isTls: tls !== null });
    if (danger === undefined) continue;
    if (!insecure) {
      const field = address === listen ? "listen" : "grpc";
      throw new InvalidRequestError(field, (nameOf) => `is ${host}: ${danger.refusal(nameOf)}`);
    }
    warnings.push(danger.warning);
  }
  return [...new Set(warnings)];
}

function urlOf(app: FastifyInstance, isTls: boolean): string {
  const { address, family, port } = app.server.address() as AddressInfo;
  return `${isTls ? "https" : "http"}://${family === "IPv6" ? `[${address}]` : address}:${port}`;
}

/** Parsed options say `null` for "none"; the constructors that get them expect the field to be left out. */
function optional<T extends object>(
  value: T,
): { [K in keyof T]: NonNullable<T[K]> | (null extends T[K] ? undefined : never) } {
  return Object.fromEntries(Object.entries(value).filter(([, each]) => each !== null)) as never;
}

/** The resources that were opened, to be closed in reverse order. */
class AsyncStack {
  readonly #undo: (() => Promise<void>)[] = [];

  keep<T extends AsyncDisposable>(resource: T): T {
    this.push(async () => resource[Symbol.asyncDispose]());
    return resource;
  }

  push(undo: () => Promise<void>): void {
    this.#undo.push(undo);
  }

  async run(): Promise<void> {
    for (let undo = this.#undo.pop(); undo !== undefined; undo = this.#undo.pop()) await undo();
  }
}
