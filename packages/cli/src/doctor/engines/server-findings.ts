/** Findings that are the same for every engine of several servers: its version, a server that is down, its quorum, its certificates. */
import { checkCertificateFile } from "../certificate-checks.js";
import { type Finding, messageOf, note, ok, wrong } from "../finding.js";

/** `undefined` if the version is not too old. */
export function tooOld(about: string, version: string, oldest: string): Finding | undefined {
  return isBefore(version, oldest)
    ? wrong(about, `is ${version}`, `upgrade to ${oldest} or newer`)
    : undefined;
}

export function unreachable(
  about: string,
  error: unknown,
  advice = "check that it runs and can be reached from here",
): Finding {
  return wrong(about, `does not respond: ${messageOf(error)}`, advice);
}

/** `says`: how many of the servers in the URL serve. `advice`: how to run more than one. */
export function quorum(
  engine: string,
  { serving, count }: { readonly serving: number; readonly count: number },
  says: string,
  advice: string,
): Finding {
  const about = `${engine} quorum`;
  if (serving < count) return wrong(about, says, "restart the others before another one fails");
  if (count === 1) return note(about, `${says}: if it fails, every election stops`, advice);
  return ok(about, says);
}

/** The certificates in those files that the options name. */
export function checkCertificateFiles(
  engine: string,
  files: readonly (string | undefined)[],
  nowMs: number,
): Finding[] {
  return files.flatMap((path) =>
    path === undefined ? [] : checkCertificateFile(`certificate for ${engine}`, path, nowMs),
  );
}

/** `3.4.23`, `v2.10.1-beta`, as numbers to compare. */
function versionOf(text: string): readonly number[] {
  return (/\d+(?:\.\d+)*/.exec(text)?.[0] ?? "0").split(".").map(Number);
}

export function isBefore(version: string, other: string): boolean {
  const [a, b] = [versionOf(version), versionOf(other)];
  for (let place = 0; place < Math.max(a.length, b.length); place++) {
    const difference = (a[place] ?? 0) - (b[place] ?? 0);
    if (difference !== 0) return difference < 0;
  }
  return false;
}
