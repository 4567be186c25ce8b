import { createServer, type Server } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import type { Election } from "@tenure/client";

/** For programs beside this one: who leads, without a library. Answers every GET with `{name, is_leader, term}`. */
export class StatusEndpoint {
  readonly #server: Server;

  static async open(election: Election, name: string, host: string, port: number): Promise<StatusEndpoint> {
    const server = createServer((request, response) => {
      const isLeader = election.isLeader();
      const { leaderId, term } = election.status();
      response.statusCode = request.method === "GET" || request.method === "HEAD" ? 200 : 405;
      response.setHeader("content-type", "application/json");
      response.setHeader("cache-control", "no-store");
      response.end(JSON.stringify({ name: leaderId ?? "", is_leader: isLeader, term, node_id: name }));
    });
    server.listen(port, host);
    await once(server, "listening");
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
