import { randomBytes } from "node:crypto";
import { hostname } from "node:os";

/** The longest host name without a domain; the suffix fits beside it. */
const MAX_HOST_LENGTH = 63;

/** A name for this process among the candidates: its host and a suffix, so that two processes of one host differ. */
export function makeNodeId(host: string, suffix: string): string {
  const name = host.replaceAll(/[^A-Za-z0-9._-]+/g, "-").slice(0, MAX_HOST_LENGTH);
  return `${name === "" ? "node" : name}-${suffix}`;
}

let ofProcess: string | null = null;

/** The same for all elections of a process. */
export function defaultNodeId(): string {
  ofProcess ??= makeNodeId(hostname(), randomBytes(4).toString("hex"));
  return ofProcess;
}
