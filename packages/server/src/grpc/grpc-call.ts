import { type ServerUnaryCall, type ServerWritableStream, status } from "@grpc/grpc-js";
import { type ResponseOptions, responseOptionsOf } from "@tenure/api";
import type { Admitted } from "../limits/admission.js";
import { requestIdOf } from "../request-id.js";
import { ServiceError } from "../service-error.js";
import type { GrpcDeps } from "./grpc-deps.js";
import { type GrpcStatus, grpcStatusOf } from "./grpc-status.js";
import type { ProtoMethod } from "./proto-services.js";

type SurfaceCall = ServerUnaryCall<Buffer, object> | ServerWritableStream<Buffer, object>;

/** One call from its arrival to its end: its caller, its request id, and its metrics and log lines. */
export class GrpcCall {
  readonly requestId: string;
  readonly #call: SurfaceCall;
  readonly #deps: GrpcDeps;
  readonly #path: string;
  readonly #startedMs: number;
  #isOver = false;
  #answered: (() => void) | null = null;
  /** Why the call was cut off: its credentials were taken back. */
  #revoked: ServiceError | null = null;
  readonly #callersGone = new Set<AbortController>();

  constructor(call: SurfaceCall, path: string, deps: GrpcDeps) {
    this.#call = call;
    this.#path = path;
    this.#deps = deps;
    this.#startedMs = deps.clock.monotonicMs();
    deps.inFlight.begin();
    deps.callers.add(call.getPeer());
    this.requestId = requestIdOf(call.metadata.get("x-request-id")[0]);
  }

  /** Authenticates the caller and applies its rate limit. Nothing of the request was read before. */
  async admit(): Promise<Admitted> {
    const { admission, openRequests, stopping } = this.#deps;
    // On a connection that was open already.
    if (stopping.aborted)
      throw new ServiceError("BACKEND_UNAVAILABLE", "this server is stopping; use another server");
    const authorization = this.#call.metadata.get("authorization")[0];
    const remoteAddress = hostOf(this.#call.getPeer());
    const credentials = {
      authorization: typeof authorization === "string" ? authorization : undefined,
      certificate: this.#call.getAuthContext().sslPeerCertificate,
      origin: { transport: "grpc", remoteAddress, requestId: this.requestId } as const,
    };
    const admitted = await admission.admit(credentials, remoteAddress);
    this.#answered = openRequests.add(admitted.caller, credentials, (reason) => this.#cut(reason));
    return admitted;
  }

  /** For probes, which have no credentials. */
  admitProbe(): void {
    this.#deps.admission.admitAnybody("probes from", hostOf(this.#call.getPeer()));
  }

  /** What answers show, as the caller prefers. */
  get response(): ResponseOptions {
    return responseOptionsOf(this.#call.metadata.get("prefer")[0]);
  }

  read(bytes: Buffer, { decode }: ProtoMethod, mostBytes: number): Record<string, unknown> {
    if (bytes.length > mostBytes)
      throw new ServiceError("BODY_TOO_LARGE", `the message is larger than ${mostBytes} bytes`);
    try {
      return decode(bytes);
    } catch (cause) {
      throw new ServiceError("INVALID_REQUEST", "the message cannot be decoded", {}, { cause });
    }
  }

  /**
   * Aborted when the caller cancels, its deadline passes or its connection ends. grpc-js says "cancelled" after an answer
   * too.
   */
  callerGoneSignal(): AbortSignal {
    const controller = new AbortController();
    this.#callersGone.add(controller);
    if (this.#revoked !== null) controller.abort(this.#revoked);
    const abort = (): void => {
      if (!this.#isOver) controller.abort(new Error("the caller disconnected"));
    };
    this.#call.once("cancelled", abort);
    if (this.#call.cancelled) abort();
    return controller.signal;
  }

  succeed(): void {
    this.#note(status.OK);
  }

  /** Records the failure and returns the status to answer with. It is not sent if the caller is gone. */
  fail(error: unknown): GrpcStatus {
    const answer = grpcStatusOf(this.#revoked ?? error, this.requestId);
    if (this.#call.cancelled) {
      this.#note(status.CANCELLED);
      return answer;
    }
    if (answer.code === status.INTERNAL) {
      this.#deps.log.error({ err: error, req_id: this.requestId }, "gRPC call failed: internal error");
    }
    this.#note(answer.code);
    return answer;
  }

  /** Whatever is being done for the call ends as if the caller had hung up. */
  #cut(reason: ServiceError): void {
    this.#revoked = reason;
    for (const each of this.#callersGone) each.abort(reason);
  }

  #note(code: status): void {
    if (!this.#isOver) this.#deps.inFlight.end();
    this.#isOver = true;
    this.#answered?.();
    const { clock, log, metrics, activity } = this.#deps;
    const ms = clock.monotonicMs() - this.#startedMs;
    metrics.requestsOf(this.#path)("gRPC", code, ms);
    activity.requestsOf(this.#path)(ms);
    if (log.isLevelEnabled("debug"))
      log.debug({ req_id: this.requestId, route: this.#path, status: code, ms }, "answered");
  }
}

/** The address without its port, which differs for each connection, and without the brackets of IPv6. */
function hostOf(peer: string): string {
  return peer.slice(0, peer.lastIndexOf(":")).replace(/^\[(.*)\]$/, "$1");
}
