import type { Finding } from "@tenure/api";

/** Called when a finding appears or is over. Must be quick and must not throw. */
export type FindingListener = (finding: Finding, change: "started" | "ended") => void;

/** Reports what changed between two lists about the same subject. A finding whose severity changes ends and starts again. */
export function reportChanges(
  before: readonly Finding[],
  now: readonly Finding[],
  listener: FindingListener,
): void {
  for (const finding of before) if (!isIn(now, finding)) listener(finding, "ended");
  for (const finding of now) if (!isIn(before, finding)) listener(finding, "started");
}

function isIn(findings: readonly Finding[], one: Finding): boolean {
  return findings.some(({ kind, severity }) => kind === one.kind && severity === one.severity);
}
