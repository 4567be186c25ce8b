import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import type { Election } from "@tenure/client";
import { InvalidRequestError } from "@tenure/core";
import type { RunMetrics } from "./run-metrics.js";

export interface StatusAddress {
  readonly host: string;
  readonly port: number;
}

interface Page {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

/**
 * For programs beside this one, such as load balancers and Prometheus. `/` answers 200 with `{name, is_leader, term}`; `name` is the
 * leader. `/leader` answers the same, with 200 if this node leads and 503 if not. `/healthz` answers 200 while this process runs.
 */
export class StatusEndpoint {
  readonly #server: Server;

  static async open(
    election: Election,
    metrics: RunMetrics,
    { host, port }: StatusAddress,
  ): Promise<StatusEndpoint> {
    const server = createServer((request, response) => answer(request, response, election, metrics));
    server.listen(port, host);
    await once(server, "listening").catch((cause: unknown) => {
      throw new InvalidRequestError("--http", `cannot be served: ${(cause as Error).message}`, { cause });
    });
    return new StatusEndpoint(server);
  }

  private constructor(server: Server) {
    this.#server = server;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }
}

function answer(
  { method = "", url = "/" }: IncomingMessage,
  response: ServerResponse,
  election: Election,
  metrics: RunMetrics,
): void {
  const [path = "/"] = url.split("?");
  const page = pageOf(path, election, metrics);
  const isRead = method === "GET" || method === "HEAD";
  if (!isRead) response.setHeader("allow", "GET, HEAD");
  response.statusCode = isRead ? page.status : 405;
  response.setHeader("content-type", page.type);
  response.setHeader("cache-control", "no-store");
  response.end(page.body);
}

function pageOf(path: string, election: Election, metrics: RunMetrics): Page {
  switch (path) {
    case "/":
      return statusPage(election, false);
    case "/leader":
      return statusPage(election, true);
    case "/healthz":
      return json(200, { ok: true });
    case "/metrics":
      return { status: 200, type: "text/plain; version=0.0.4; charset=utf-8", body: metrics.text(election) };
    default:
      return json(404, {
        error: "NOT_FOUND",
        message: `${path} is not a path of this process; use /, /leader, /healthz or /metrics`,
      });
  }
}

function statusPage(election: Election, forLeader: boolean): Page {
  const { leaderId, term, isLeader } = election.status();
  return json(forLeader && !isLeader ? 503 : 200, { name: leaderId ?? "", is_leader: isLeader, term });
}

function json(status: number, body: object): Page {
  return { status, type: "application/json", body: JSON.stringify(body) };
}
