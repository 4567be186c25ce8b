import type { Logger } from "@tenure/client";
import { type Clock, InvalidRequestError } from "@tenure/core";
import type { ChildEvent } from "../supervisor/supervisor.js";
import { STDERR_LOGGER } from "./stderr-logger.js";
import { type CoordinatorEvent, type CoordinatorMessage, publish } from "./telemetry.js";

export interface CoordinatorReporterOptions {
  readonly nodeId: string;
  readonly groupId: string;
  readonly clock: Clock;
  readonly logger: Logger | undefined;
}

const LEVELS = ["debug", "info", "warn", "error"] as const;
type Level = (typeof LEVELS)[number];

/** Reports what a coordinator does, as events for listeners and as log lines. A logger that throws is ignored. */
export class CoordinatorReporter {
  readonly #options: CoordinatorReporterOptions;
  readonly #logger: Logger;

  constructor(options: CoordinatorReporterOptions) {
    const { logger = STDERR_LOGGER } = options;
    if (!LEVELS.every((level) => typeof logger[level] === "function")) {
      throw new InvalidRequestError("logger", "must have the methods debug, info, warn and error, like pino");
    }
    this.#options = options;
    this.#logger = logger;
  }

  event(event: CoordinatorEvent, metadata: CoordinatorMessage["metadata"]): void {
    const { nodeId, clock } = this.#options;
    publish({ event, measurements: { time: clock.wallMs() }, metadata: { node: nodeId, ...metadata } });
  }

  child(event: ChildEvent): void {
    const { id: child, term } = event;
    if (event.kind === "started") {
      this.event("child_started", { term, child });
      this.#log("debug", { term, child }, "child started");
    } else if (event.kind === "crashed") {
      this.event("child_crashed", { term, child, error: messageOf(event.error) });
      this.#log("warn", { term, child, err: event.error }, "child crashed");
    } else {
      const { end } = event;
      const error = end?.kind === "crashed" ? messageOf(end.error) : null;
      this.event("child_restarted", { term, child, error });
      this.#log("info", { term, child }, "child restarted");
    }
  }

  childrenFailed(term: number, child: string, error: Error): void {
    this.#log("error", { term, child, err: error }, "children failed; the leadership is resigned");
  }

  candidateCrashed(error: unknown): void {
    this.#log("warn", { err: error }, "candidate crashed");
  }

  #log(level: Level, fields: object, message: string): void {
    const { nodeId, groupId } = this.#options;
    try {
      this.#logger[level]({ node: nodeId, group: groupId, ...fields }, message);
    } catch {
      // A log line that cannot be written must not end the children.
    }
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
