/**
 * Watches as streams. The next event is pulled only when the last one has left, so a slow reader costs no memory: it falls
 * behind, and past the events that are kept it gets one RESYNC.
 */
import type { handleServerStreamingCall, ServerWritableStream } from "@grpc/grpc-js";
import { type Clock, onAbort } from "@tenure/core";
import { Type } from "typebox";
import { ServiceError } from "../service-error.js";
import { GroupParams } from "../wire/shapes.js";
import { cursorText, parseCursor, type WatchFrom } from "../wire/watch-cursor.js";
import { GrpcCall } from "./grpc-call.js";
import type { GrpcParts } from "./grpc-parts.js";
import { requestIdMetadata } from "./grpc-status.js";
import type { ProtoMethod } from "./proto-services.js";
import { requestParser } from "./request-parser.js";
import { MESSAGE_BYTES } from "./unary-method.js";

/** A reader that takes nothing for so long loses its place, as in HTTP. */
const STUCK_MS = 60_000;

export interface WatchMethod {
  readonly parse: (message: Record<string, unknown>) => {
    readonly groupId: string | null;
    readonly from: WatchFrom | undefined;
  };
}

const closed = { additionalProperties: false } as const;
const cursor = Type.Optional(Type.String());
const parseOne = requestParser(Type.Object({ ...GroupParams.properties, cursor }, closed));
const parseAll = requestParser(Type.Object({ cursor }, closed));

export const watchMethods: Readonly<Record<string, WatchMethod>> = {
  Watch: {
    parse: (message) => {
      const request = parseOne(message);
      return { groupId: request.group_id, from: parseCursor(request.cursor, "one group") };
    },
  },
  WatchAll: {
    parse: (message) => ({ groupId: null, from: parseCursor(parseAll(message).cursor, "all groups") }),
  },
};

export function watchHandler(
  { parse }: WatchMethod,
  proto: ProtoMethod,
  parts: GrpcParts,
): handleServerStreamingCall<Buffer, object> {
  const { service, stopping, clock } = parts;
  return (call) => {
    const current = new GrpcCall(call, proto.definition.path, parts);
    const ending = new AbortController();
    const hangUp = current.hangUp();
    onAbort(hangUp, () => ending.abort(hangUp.reason));
    const stopListening = onAbort(stopping, () => ending.abort(stopping.reason));
    if (stopping.aborted) ending.abort(stopping.reason);
    const send = async (): Promise<void> => {
      const { caller, charge } = await current.admit();
      const request = parse(current.read(call.request, proto, MESSAGE_BYTES));
      call.sendMetadata(requestIdMetadata(current.requestId));
      const { signal } = ending;
      const items = service.watch(caller, request.groupId, request.from, { signal, charge });
      for await (const item of items) {
        const hasRoom = call.write({ event: item.event, cursor: cursorText(item) });
        if (!hasRoom) await drained(call, ending.signal, clock);
      }
    };
    const finish = (error: unknown): void => {
      stopListening();
      // A watch has no end of its own. What ended it is told once the events before it have left.
      const answer = current.fail(stopping.aborted ? endedError() : error);
      if (!call.cancelled) call.emit("error", answer);
    };
    send().then(() => finish(endedError()), finish);
  };
}

function endedError(): ServiceError {
  return new ServiceError("BACKEND_UNAVAILABLE", "this watch has ended; come back with the last cursor");
}

/** Resolves when there is room for more; rejects when the watch is to end, or its reader seems to sleep. */
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
    const abort = (): void => settle(new Error("the watch is to end", { cause: signal.reason }));
    const cancelTimer = clock.after(STUCK_MS, () => settle(endedError()));
    call.on("drain", settle);
    const stopListening = onAbort(signal, abort);
    if (signal.aborted) abort();
  });
}
