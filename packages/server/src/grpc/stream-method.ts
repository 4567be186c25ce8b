/**
 * Verbs with many answers. The next one is pulled only when the last has left, so a slow reader costs no memory: a watch falls
 * behind, and past the events that are kept it gets one RESYNC.
 */
import type { handleServerStreamingCall, ServerWritableStream } from "@grpc/grpc-js";
import type { Clock } from "@tenure/core";
import { onAbort, LinkedController } from "@tenure/core/internal";
import type { Caller } from "../auth/caller.js";
import type { ElectionService } from "../election-service.js";
import { ServiceError } from "../service-error.js";
import { GrpcCall } from "./grpc-call.js";
import type { GrpcDeps } from "./grpc-deps.js";
import { requestIdMetadata } from "./grpc-status.js";
import type { ProtoMethod } from "./proto-services.js";
import { MESSAGE_BYTES } from "./unary-methods.js";

/** A stream whose reader takes nothing for this long is ended, as in HTTP. */
const STUCK_MS = 60_000;

export interface StreamAsked {
  readonly service: ElectionService;
  readonly caller: Caller;
  /** Takes what the request costs beyond one request, from the rate limit of the caller. */
  readonly charge: (cost: number) => void;
  /** Aborted when the caller hangs up or the server begins to stop. */
  readonly signal: AbortSignal;
}

export interface StreamMethod {
  readonly maxBytes?: number;
  readonly open: (message: Record<string, unknown>, asked: StreamAsked) => AsyncIterable<object>;
}

export function streamHandler(
  { maxBytes = MESSAGE_BYTES, open }: StreamMethod,
  proto: ProtoMethod,
  deps: GrpcDeps,
): handleServerStreamingCall<Buffer, object> {
  return streaming(proto, deps, async (current, call, signal) => {
    const { caller, charge } = await current.admit();
    const message = current.read(call.request, proto, maxBytes);
    return open(message, { service: deps.service, caller, charge, signal });
  });
}

/** `begin` admits the caller and opens what is sent. */
export function streaming(
  proto: ProtoMethod,
  deps: GrpcDeps,
  begin: (
    current: GrpcCall,
    call: ServerWritableStream<Buffer, object>,
    signal: AbortSignal,
  ) => Promise<AsyncIterable<object>>,
): handleServerStreamingCall<Buffer, object> {
  const { stopping, clock } = deps;
  return (call) => {
    const current = new GrpcCall(call, proto.definition.path, deps);
    const ending = new LinkedController(current.callerGoneSignal(), stopping);
    const send = async (): Promise<void> => {
      const items = (await begin(current, call, ending.signal))[Symbol.asyncIterator]();
      call.sendMetadata(requestIdMetadata(current.requestId));
      const stopItems = onAbort(ending.signal, () => void items.return?.());
      try {
        for (let item = await items.next(); item.done !== true; item = await items.next()) {
          if (!call.write(item.value)) await drained(call, ending.signal, clock);
        }
      } finally {
        stopItems();
        void items.return?.();
      }
    };
    const finish = (error: unknown): void => {
      ending.unlink();
      // A stream never ends by itself. The reason of its end is sent after the events before it.
      const answer = current.fail(stopping.aborted ? endedError() : error);
      if (!call.cancelled) call.emit("error", answer);
    };
    send().then(() => finish(endedError()), finish);
  };
}

function endedError(): ServiceError {
  return new ServiceError("BACKEND_UNAVAILABLE", "this watch has ended; watch again from the last cursor");
}

/** Resolves when the stream can take more; rejects when the stream has to end, or its reader has taken nothing for too long. */
function drained(
  call: ServerWritableStream<Buffer, object>,
  signal: AbortSignal,
  clock: Clock,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (failure?: Error): void => {
      cancelTimer();
      call.off("drain", settle);
      stopListening();
      if (failure === undefined) resolve();
      else reject(failure);
    };
    const abort = (): void => settle(new Error("the watch was stopped", { cause: signal.reason }));
    const cancelTimer = clock.after(STUCK_MS, () => settle(endedError()));
    call.on("drain", settle);
    const stopListening = onAbort(signal, abort);
    if (signal.aborted) abort();
  });
}
