import type { Shell } from "../frame/shell.js";
import type { Report, RunReport } from "./run-report.js";

/**
 * Writes reports to stderr, and passes them to other readers. They are written in order after the current call, so that a terminal that
 * does not read cannot delay a signal to the command.
 */
export class RunOutput {
  readonly #shell: Shell;
  readonly #common: Readonly<Record<string, unknown>>;
  readonly #readers: Report[] = [];
  #writing: Promise<void> = Promise.resolve();

  constructor(shell: Shell, groupId: string, nodeId: string) {
    this.#shell = shell;
    this.#common = { group_id: groupId, node_id: nodeId };
  }

  add(reader: Report): void {
    this.#readers.push(reader);
  }

  /** Resolves when everything reported so far was written. */
  flushed(): Promise<void> {
    return this.#writing;
  }

  readonly report: Report = (report) => {
    const tsMs = this.#shell.clock.wallMs();
    this.#writing = this.#writing.then(() => this.#write(report, tsMs));
  };

  #write(report: RunReport, tsMs: number): void {
    const { event, message, fields } = report;
    this.#shell.remark(message, { event, ts_ms: Math.round(tsMs), ...this.#common, ...fields });
    for (const reader of this.#readers) reader(report);
  }
}
