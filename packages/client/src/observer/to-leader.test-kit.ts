/** Nodes that serve HTTP, and a client that sends bytes unchanged. Everything opened here is closed by `cleanUp`. */
import { once } from "node:events";
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  request as httpRequest,
  type RequestOptions,
  type Server,
} from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { ObservedLeader } from "./observed.js";

const undo: (() => unknown)[] = [];

export async function cleanUp(): Promise<void> {
  for (const step of undo.splice(0).toReversed()) await step();
}

export function later(step: () => unknown): void {
  undo.push(step);
}

/** `host:port` of a server that listens from now on. */
export async function listening(server: Server): Promise<string> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  later(() => {
    server.closeAllConnections();
    server.close();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

export interface Seen {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: readonly string[];
  readonly body: string;
}

/** A leader that records its requests; its answer comes from `answer`, or is `done`. */
export async function leaderNode(answer?: RequestListener): Promise<{ address: string; seen: Seen[] }> {
  const seen: Seen[] = [];
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const { method, url, rawHeaders } = request;
      seen.push({ method, url, headers: rawHeaders, body });
      if (answer === undefined) response.end("done");
      else answer(request, response);
    });
  });
  return { address: await listening(server), seen };
}

export function leading(address: string | null, nodeId = "leader"): { leader(): ObservedLeader | null } {
  const leader = { nodeId, term: 1, metadata: null, address };
  return { leader: () => leader };
}

export const NOBODY: { leader(): ObservedLeader | null } = { leader: () => null };

export interface Answer {
  readonly status: number | undefined;
  readonly headers: IncomingMessage["headers"];
  readonly rawHeaders: readonly string[];
  readonly body: string;
}

/** Not `fetch`, which forbids some headers and follows redirects. */
export async function ask(
  address: string,
  { body, ...options }: RequestOptions & { body?: string } = {},
): Promise<Answer> {
  const request = httpRequest(`http://${address}`, { agent: false, ...options });
  request.end(body);
  const [response] = (await once(request, "response")) as [IncomingMessage];
  const { statusCode: status, headers, rawHeaders } = response;
  return { status, headers, rawHeaders, body: await text(response) };
}

/** A promise, and what settles it. */
export function deferred<T = void>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
