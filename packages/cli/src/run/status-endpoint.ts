import { createServer, type Server } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import type { Election } from "@tenure/client";
import { InvalidRequestError } from "@tenure/core";

export interface StatusAddress {
  readonly host: string;
  readonly port: number;
}

/** For programs beside this one: who leads, without a library. Answers every GET with `{name, is_leader, term}`; `name` is the leader. */
export class StatusEndpoint {
  readonly #server: Server;

  static async open(election: Election, { host, port }: StatusAddress): Promise<StatusEndpoint> {
    const server = createServer((request, response) => {
      const { leaderId, term, isLeader } = election.status();
      response.statusCode = request.method === "GET" || request.method === "HEAD" ? 200 : 405;
      response.setHeader("content-type", "application/json");
      response.setHeader("cache-control", "no-store");
      response.end(JSON.stringify({ name: leaderId ?? "", is_leader: isLeader, term }));
    });
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
