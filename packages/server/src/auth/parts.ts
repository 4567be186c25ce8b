import type { Clock } from "@tenure/core";
import type { BaseLogger } from "pino";

/** What everything here that outlives a request is given. */
export interface Parts {
  readonly clock: Clock;
  readonly log: Pick<BaseLogger, "info" | "warn">;
}
