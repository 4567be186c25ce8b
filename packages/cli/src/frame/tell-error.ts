/** Reports an error as one sentence with the next step, and as an exit code. */
import { BackendUnavailableError, InvalidRequestError, InvalidTtlError, TenureError } from "@tenure/core";
import type { Target } from "./connection.js";
import { tellDuration } from "./duration.js";
import { EXIT, type ExitCode } from "./shell.js";

export interface ToldError {
  readonly code: string;
  readonly message: string;
  readonly exitCode: ExitCode;
}

/** What the command knew when it failed. */
export interface Failed {
  /** Where it connected to; `null` if it did not connect to a server or a store. */
  readonly target: Target | null;
  /** Its options, as parsed. */
  readonly given: Readonly<Record<string, unknown>>;
}

/** The flags or arguments for the fields of requests. */
const OPTIONS: Readonly<Record<string, string>> = {
  groupId: "GROUP",
  nodeId: "--node-id",
  toNodeId: "NODE",
  term: "--term",
  ttlMs: "--ttl",
  instanceId: "--instance",
  priority: "--priority",
  metadata: "--metadata",
  waitMs: "--wait",
  banMs: "--ban",
  forMs: "--for",
  timeoutMs: "--timeout",
  by: "--by",
  reason: "--reason",
  cursor: "--cursor",
  prefix: "--prefix",
  limit: "--limit",
  context: "--context",
  allowedNodes: "--allow",
  "policy.minTtlMs": "--min-ttl",
  "policy.maxTtlMs": "--max-ttl",
  "policy.takeoverDelayMs": "--takeover-delay",
  "policy.strategy": "--strategy",
  "policy.preempt": "--preempt",
  "policy.retry.initialMs": "--retry-initial",
  "policy.retry.maxMs": "--retry-max",
  "policy.retry.jitter": "--retry-jitter",
  store: "--store",
  endpoints: "--server",
  tokenFile: "--token-file",
  "tls.caFile": "--ca",
  "tls.ca": "--ca",
  "tls.certFile": "--cert",
  "tls.cert": "--cert",
  "tls.keyFile": "--key",
  "tls.key": "--key",
};

const NOTHING: Failed = { target: null, given: {} };

export function tellError(error: unknown, failed: Failed = NOTHING): ToldError {
  if (error instanceof InvalidTtlError) {
    const { minTtlMs, maxTtlMs, field } = error;
    const option = optionOf(field);
    const value = givenTo(option, failed);
    const bounds = `${tellDuration(minTtlMs)} to ${tellDuration(maxTtlMs)}`;
    const message = `${option} ${value === null ? "is" : `is ${value},`} outside the policy of this group; allowed are ${bounds}`;
    return { code: error.code, message, exitCode: EXIT.wrongUse };
  }
  if (error instanceof InvalidRequestError) {
    return { code: error.code, message: byOption(error, failed), exitCode: EXIT.wrongUse };
  }
  if (error instanceof BackendUnavailableError) {
    const message = unavailable(error, failed.target);
    return { code: error.code, message, exitCode: EXIT.unavailable };
  }
  const { code, message } = error as { code?: unknown; message?: unknown };
  const text = typeof message === "string" ? message : String(error);
  const told = TEXTS[String(code)];
  const isKnown = error instanceof TenureError || told !== undefined || code === "GROUP_NOT_FOUND";
  return {
    code: isKnown ? String(code) : "FAILED",
    message: told === undefined ? text : told(text, failed),
    exitCode: EXIT.failed,
  };
}

/** The same, after the servers that did not answer were tried once more to see which protocol they speak. */
export async function explainError(error: unknown, failed: Failed): Promise<ToldError> {
  const told = tellError(error, failed);
  const { target } = failed;
  if (!(error instanceof BackendUnavailableError) || target?.kind !== "server") return told;
  // Loaded here, because only a command without a server needs it.
  const { explainEndpoints } = await import("./explain-connection.js");
  const clauses = await explainEndpoints(target.endpoints, target.access.caFile);
  return clauses.length === target.endpoints.length ? { ...told, message: clauses.join("; ") } : told;
}

/** The whole text, by code, because the error classes of libraries that are loaded late cannot be imported here. */
const TEXTS: Readonly<Record<string, ((text: string, failed: Failed) => string) | undefined>> = {
  // The text of the server names the header; on the command line the credentials are files.
  UNAUTHENTICATED: (text, { target }) => {
    const access = target?.kind === "server" ? target.access : {};
    const { tokenFile, certFile } = access;
    if (tokenFile !== undefined) return `the server refused the token in ${tokenFile}: ${text}`;
    if (certFile !== undefined) return `the server refused the certificate in ${certFile}: ${text}`;
    return "the server requires authentication; name a token with --token-file, or a certificate with --cert and --key";
  },
  UNAUTHORIZED: (text) => `${text}; use credentials with this permission, or ask an admin`,
  RATE_LIMITED: (text) => `${text}; send fewer requests, or raise --rate-limit of the server`,
  UNEXPECTED_ANSWER: (text) => `${text}; check that --server names a Tenure service`,
};

function unavailable({ message }: BackendUnavailableError, target: Target | null): string {
  if (target?.kind === "store") {
    // Only one process at a time can open an embedded store; most often that process is a server.
    if (!target.url.startsWith("embedded:")) return `${message}; check the store and --store`;
    return `${message}; if that process is tenure serve, use --server with its URL instead of --store`;
  }
  return `${message}; check that it runs and can be reached, or name another one with --server`;
}

function optionOf(field: string): string {
  return OPTIONS[field] ?? OPTIONS[field.replace(/\[\d+\]/, "")] ?? field;
}

/** The value of a duration, as a user writes it. */
function givenTo(option: string, { given }: Failed): string | null {
  const name = option.replace(/^--/, "").replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
  const value = given[name];
  return typeof value === "number" ? tellDuration(value) : null;
}

function byOption(error: InvalidRequestError, failed: Failed): string {
  const option = optionOf(error.field);
  const problem = error.problemWith(optionOf);
  if (!error.field.endsWith("Ms")) return `${option} ${problem}`;
  // The library counts in milliseconds, the command line in durations.
  const inDurations = problem
    .replace("a whole number", "a duration")
    .replaceAll(/\b\d+\b/g, (ms) => tellDuration(Number(ms)));
  const value = givenTo(option, failed);
  if (value === null || !inDurations.startsWith("must ")) return `${option} ${inDurations}`;
  return `${option} is ${value} and ${inDurations}`;
}

/** The campaign that was refused. */
interface Refused {
  readonly groupId: string;
  readonly ttlMs: number;
}

/** An error as one sentence, with the value of the option where the error is about one. */
export function tellRefusal(error: unknown, { groupId, ttlMs }: Refused): ToldError {
  const told = tellError(error);
  if (!(error instanceof InvalidTtlError) || error.field !== "ttlMs") return told;
  const bounds = `${tellDuration(error.minTtlMs)} to ${tellDuration(error.maxTtlMs)}`;
  const message = `--ttl ${tellDuration(ttlMs)} is outside ${bounds}, which the policy of ${groupId} allows`;
  return { ...told, message };
}
