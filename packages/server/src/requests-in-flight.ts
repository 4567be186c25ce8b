/** Counts the requests that are being answered, over HTTP and gRPC, so that a server can say what it waits for when it stops. */
import type { Server as HttpServer } from "node:http";
import type { Server as HttpsServer } from "node:https";

export class RequestsInFlight {
  #count = 0;

  get count(): number {
    return this.#count;
  }

  begin(): void {
    this.#count++;
  }

  end(): void {
    this.#count--;
  }

  /** Each request of the server, until its response is complete or its connection is closed. */
  follow(server: HttpServer | HttpsServer): void {
    server.on("request", (_, response) => {
      this.begin();
      response.once("close", () => this.end());
    });
  }
}
