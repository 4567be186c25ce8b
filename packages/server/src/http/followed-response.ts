/** Responses of the HTTP server, each of which is followed to its end for the count of requests in flight, the metrics and the log. */
import { type IncomingMessage, type Server, ServerResponse } from "node:http";
import type { Server as HttpsServer } from "node:https";
import type { RequestsInFlight } from "../requests-in-flight.js";

/** Told of each complete response of a route. */
export type RouteObserver = (response: FollowedResponse, elapsedMs: number) => void;

/** Passed to the server as the class of its responses: what follows a response is in the response, without a closure for each. */
export class FollowedResponse<R extends IncomingMessage = IncomingMessage> extends ServerResponse<R> {
  readonly arrivedMs: number = performance.now();
  requestId = "";
  /** `null` until the request has reached a route. */
  observer: RouteObserver | null = null;
}

/**
 * Counts each request until its response is complete or its connection is closed. The observer of its route, or else `unrouted`, is
 * told of each response that was sent completely.
 */
export function followResponses(
  server: Server | HttpsServer,
  inFlight: RequestsInFlight,
  unrouted: RouteObserver,
): void {
  function onClose(this: FollowedResponse): void {
    inFlight.end();
    if (this.writableFinished) (this.observer ?? unrouted)(this, performance.now() - this.arrivedMs);
  }
  server.on("request", (_: IncomingMessage, response: FollowedResponse) => {
    inFlight.begin();
    response.on("close", onClose);
  });
}
