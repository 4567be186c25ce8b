/** What `tenure run` and `tenure elect` report while they run: to the terminal or as JSON, to systemd, and as counters of its metrics. */

/** Stable, because scripts depend on these names. docs/COMMAND.md describes each of them. */
export const RUN_EVENTS = [
  "waiting",
  "paused",
  "held_back",
  "elected",
  "lost",
  "refused",
  "connection_lost",
  "connection_restored",
  "health_failed",
  "health_restored",
  "stopping",
  "killing",
  "exited",
  "hook_failed",
  "labelled",
  "label_removed",
  "label_failed",
  "notify_failed",
  "ended",
  "failed",
] as const;

export type RunEvent = (typeof RUN_EVENTS)[number];

export interface RunReport {
  readonly event: RunEvent;
  /** One sentence for people. */
  readonly message: string;
  /** The same as data, with the names of the wire. */
  readonly fields: Readonly<Record<string, unknown>>;
}

export type Report = (report: RunReport) => void;
