/** What a server says about itself (`GET /v1/server`). */
import { createRequire } from "node:module";
import { type shapes, VERBS } from "@tenure/api";
import type { Clock } from "@tenure/core";

const { version } = createRequire(import.meta.url)("../package.json") as { readonly version: string };

export interface ServerInfoDeps {
  readonly clock: Clock;
  /** Kind of the store. */
  readonly store: string;
  readonly isAuthenticated: boolean;
}

export class ServerInfo {
  readonly #deps: ServerInfoDeps;
  readonly #startedAtMs: number;

  constructor(deps: ServerInfoDeps) {
    this.#deps = deps;
    this.#startedAtMs = Math.round(deps.clock.wallMs());
  }

  reply(): shapes.ServerReply {
    const { clock, store, isAuthenticated } = this.#deps;
    return {
      version,
      store,
      started_at_ms: this.#startedAtMs,
      now_ms: Math.round(clock.wallMs()),
      docs_url: VERBS.docs.path,
      auth: isAuthenticated ? "required" : "none",
    };
  }
}
