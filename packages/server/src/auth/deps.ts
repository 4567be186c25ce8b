import type { Clock } from "@tenure/core";
import type { BaseLogger } from "pino";

/** Dependencies of everything here that outlives a request. */
export interface AuthDeps {
  readonly clock: Clock;
  readonly log: Pick<BaseLogger, "info" | "warn">;
  /** Called when a credential that was accepted may not be accepted any more. */
  readonly onRevoked?: (() => void) | undefined;
}
