/** Reports an error as one sentence with the next step, and as an exit code. */
import { BackendUnavailableError, InvalidRequestError, InvalidTtlError, TenureError } from "@tenure/core";
import { EXIT, type ExitCode } from "./shell.js";
import { tellDuration } from "./duration.js";

export interface ToldError {
  readonly code: string;
  readonly message: string;
  readonly exitCode: ExitCode;
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

export function tellError(error: unknown): ToldError {
  if (error instanceof InvalidTtlError) {
    const { minTtlMs, maxTtlMs, field } = error;
    const bounds = `${tellDuration(minTtlMs)} to ${tellDuration(maxTtlMs)}`;
    const message = `${optionOf(field)} is outside the policy of this group; allowed are ${bounds}`;
    return { code: error.code, message, exitCode: EXIT.wrongUse };
  }
  if (error instanceof InvalidRequestError) {
    return { code: error.code, message: byOption(error), exitCode: EXIT.wrongUse };
  }
  if (error instanceof BackendUnavailableError) {
    const message = `${error.message}; check that it runs and can be reached, or name another one with --server or --store`;
    return { code: error.code, message, exitCode: EXIT.unavailable };
  }
  const { code, message } = error as { code?: unknown; message?: unknown };
  const text = typeof message === "string" ? message : String(error);
  const isKnown = error instanceof TenureError || (typeof code === "string" && code in NEXT_STEPS);
  const next = NEXT_STEPS[String(code)];
  return {
    code: isKnown ? String(code) : "FAILED",
    message: next === undefined ? text : `${text}; ${next}`,
    exitCode: EXIT.failed,
  };
}

/** By code, because the error classes of libraries that are loaded late cannot be imported here. */
const NEXT_STEPS: Readonly<Record<string, string | undefined>> = {
  UNAUTHENTICATED: "send a valid token with --token-file, or a certificate with --cert and --key",
  UNAUTHORIZED: "use credentials with this permission, or ask an admin",
  RATE_LIMITED: "send fewer requests, or raise --rate-limit of the server",
  UNEXPECTED_ANSWER: "check that --server names a Tenure service",
  CONFLICT: "check the group with tenure groups show or tenure why, then decide again",
  TOO_MANY_GROUPS: "list the groups with tenure groups list, and delete one with tenure groups delete",
  GROUP_NOT_FOUND: "create it with tenure groups create",
};

function optionOf(field: string): string {
  return OPTIONS[field] ?? OPTIONS[field.replace(/\[\d+\]/, "")] ?? field;
}

function byOption(error: InvalidRequestError): string {
  return `${optionOf(error.field)} ${error.problemWith(optionOf)}`;
}
