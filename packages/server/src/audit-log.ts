import type { Logger } from "pino";

export interface AuditEntry {
  readonly act: string;
  readonly by: string;
  readonly groupId: string;
  readonly details: Readonly<Record<string, unknown>>;
  /** `done`, or the code of the refusal. */
  readonly outcome: string;
}

/** One log line for every act of an admin, also where only warnings are logged else; none where nothing is. */
export class AuditLog {
  readonly #log: Logger;

  constructor(log: Logger) {
    this.#log = log.child({ audit: true }, log.level === "silent" ? {} : { level: "info" });
  }

  record({ act, by, groupId, details, outcome }: AuditEntry): void {
    this.#log.info(
      { act, by, group_id: groupId, details, outcome },
      `${by}: ${act} of ${groupId}: ${outcome}`,
    );
  }
}
