import { type Logger, pino } from "pino";

export type AuditLine = Readonly<Record<string, unknown>>;

/** A logger at this level, and the lines of the audit log that it was given. */
export function auditedLog(level = "silent"): { readonly log: Logger; readonly lines: AuditLine[] } {
  const lines: AuditLine[] = [];
  const write = (line: string): void => {
    const entry = JSON.parse(line) as AuditLine;
    if (entry["audit"] === true) lines.push(entry);
  };
  return { log: pino({ level, base: null }, { write }), lines };
}
