/** The log lines about the start and the end of a server. Programs find them by `event`. */
import { resolve } from "node:path";
import { VERBS } from "@tenure/api";
import type { Logger } from "pino";
import type { WaitingRoom } from "./limits/waiting-room.js";
import type { RequestsInFlight } from "./requests-in-flight.js";

export interface StartedServer {
  readonly url: string;
  readonly grpcAddress: string | null;
  /** Kind of the store. */
  readonly store: string;
  /** Not logged as a whole, because it may contain a password. */
  readonly storeUrl: string;
  readonly isAuthenticated: boolean;
}

const EMBEDDED = "embedded:";

export class LifeLog {
  readonly #log: Logger;
  readonly #inFlight: RequestsInFlight;
  readonly #waiting: WaitingRoom;

  constructor(log: Logger, open: { readonly inFlight: RequestsInFlight; readonly waiting: WaitingRoom }) {
    this.#log = log;
    this.#inFlight = open.inFlight;
    this.#waiting = open.waiting;
  }

  started({ url, grpcAddress, store, storeUrl, isAuthenticated }: StartedServer): void {
    this.#log.info(
      {
        event: "started",
        url,
        docs_url: `${url}${VERBS.docs.path}`,
        ...(grpcAddress === null ? {} : { grpc: grpcAddress }),
        store,
        ...(storeUrl.startsWith(EMBEDDED) ? { directory: resolve(storeUrl.slice(EMBEDDED.length)) } : {}),
        auth: isAuthenticated ? "required" : "none",
      },
      isAuthenticated
        ? "server started"
        : "server started without authentication: every caller that can reach it is an admin",
    );
  }

  stopping(): void {
    this.#log.info(
      {
        event: "stopping",
        requests: this.#inFlight.count,
        watches: this.#waiting.count("watches"),
        waiting_campaigns: this.#waiting.count("waiting campaigns"),
      },
      "server stopping",
    );
  }

  stopped(): void {
    this.#log.info({ event: "stopped" }, "server stopped");
  }
}
