/** Abort signals of a request: when its caller is gone, and when nothing more can be sent. */
import { onAbort } from "@tenure/core/internal";
import type { FastifyReply } from "fastify";
import { ServiceError } from "../service-error.js";

/** The caller closed the connection before the answer. */
export class CallerGoneError extends Error {
  constructor() {
    super("the caller disconnected");
  }
}

/** Aborted when the caller closes the connection before the answer was sent. */
export function callerGoneSignal({ raw }: FastifyReply): AbortSignal {
  const controller = new AbortController();
  raw.once("close", () => {
    if (!raw.writableFinished) controller.abort(new CallerGoneError());
  });
  return controller.signal;
}

/** Aborted when there is nothing more to send: the answer was sent, the caller disconnected or the server begins to stop. */
export function responseEndSignal({ raw }: FastifyReply, stopping: AbortSignal): AbortSignal {
  const controller = new AbortController();
  const stop = () =>
    controller.abort(new ServiceError("BACKEND_UNAVAILABLE", "this server is stopping; use another server"));
  if (stopping.aborted) stop();
  const stopListening = onAbort(stopping, stop);
  raw.once("close", () => {
    stopListening();
    controller.abort(new CallerGoneError());
  });
  return controller.signal;
}
