/**
 * The audit log: who did what, as whom, from where, and with which outcome. It has a logger of its own, so that no log level
 * turns it off. docs/HARDENING.md documents its lines; they change with a line in the CHANGELOG only.
 *
 * Every act of an admin that was carried out is written. What strangers can cause at will (refusals, failed logins) and
 * what repeats (an admin that renews in the name of a node) is bounded, so that no flood fills a disk; what was not written
 * is counted, and the count is written.
 */
import { type CancelTimer, type Clock, InvalidRequestError } from "@tenure/core";
import { type Logger, pino } from "pino";
import type { Origin } from "../auth/authenticator.js";
import type { Caller, CallerKind } from "../auth/caller.js";
import { accountOf, addressAccount } from "../limits/account.js";
import { AuditFile } from "./audit-file.js";
import { FloodGate, type FloodLimits } from "./flood-gate.js";
import { HeadLog } from "./head-log.js";

/** What a caller did to a group, and the outcome. */
export interface AuditedAct {
  readonly caller: Caller;
  readonly act: string;
  readonly groupId: string;
  /** `done`, `won`, `lost`, or the code of the refusal. */
  readonly outcome: string;
  /** In whose name the caller took part. */
  readonly nodeId?: string | undefined;
  readonly term?: number | undefined;
  readonly details?: Readonly<Record<string, unknown>> | undefined;
}

export interface FailedLogin {
  /** By the look of the credential: nothing about it was verified. */
  readonly kind: CallerKind | "other";
  readonly reason: string;
  readonly origin: Origin | undefined;
}

/** What the log is written to, beyond its lines. */
interface AuditSink {
  reopen(): void;
  close(): void;
}

const NO_SINK: AuditSink = { reopen: () => {}, close: () => {} };

type AuditEvent = "admin-act" | "acting-as" | "access-denied" | "login-failed" | "cut-off";

/** At most 5 lines per second in the long run, about 150 MB a day, whatever callers send. */
const REFUSALS: FloodLimits = { burst: 20, perSecond: 0.1, totalBurst: 200, totalPerSecond: 5 };
/** Higher for admins, who are authenticated. Still, an admin that acts for every node must not write a line per renewal. */
const ACTING: FloodLimits = { burst: 1000, perSecond: 10, totalBurst: 5000, totalPerSecond: 50 };
const MAX_REMEMBERED = 50_000;
const SUMMARY_MS = 60_000;
const MAX_NAMED = 10;
const MAX_REASON = 300;

export interface AuditLogOptions {
  /** `null`: the log of the server. */
  readonly file: string | null;
  /** How often the head of the chain is written to the log; `null`: never. */
  readonly headEverySeconds: number | null;
}

/** Writes to a hash-chained file, or to the log if there is none. Throws if the file cannot be opened. */
export function openAuditLog(
  { file: path, headEverySeconds }: AuditLogOptions,
  { log, clock }: { readonly log: Logger; readonly clock: Clock },
): AuditLog {
  if (path === null) return new AuditLog(log, clock);
  const onProblem = (problem: string, error?: unknown): void => log.error({ err: error }, problem);
  let file: AuditFile;
  try {
    file = new AuditFile(path, { wallMs: () => Math.round(clock.wallMs()), onProblem });
  } catch (cause) {
    throw new InvalidRequestError("auditLog", `${path} cannot be written: ${(cause as Error).message}`, {
      cause,
    });
  }
  const heads = headEverySeconds === null ? null : new HeadLog(file, path, headEverySeconds, { log, clock });
  // Each line is written before the answer leaves.
  return new AuditLog(pino({ base: null }, file), clock, {
    reopen: () => file.reopen(),
    close: () => {
      heads?.close();
      file.close();
    },
  });
}

export class AuditLog implements AsyncDisposable {
  readonly #log: Logger;
  readonly #clock: Clock;
  readonly #sink: AuditSink;
  readonly #refusals: FloodGate;
  readonly #acting: FloodGate;
  /** Acts in a node's name that were written already; the oldest is forgotten first. */
  readonly #written = new Set<string>();
  #cancelSummary: CancelTimer | null = null;

  constructor(log: Logger, clock: Clock, sink: AuditSink = NO_SINK) {
    this.#sink = sink;
    this.#log = log.child({ audit: true }, { level: "info" });
    this.#clock = clock;
    this.#refusals = new FloodGate(clock, REFUSALS);
    this.#acting = new FloodGate(clock, ACTING);
  }

  /** An operator's act by an admin, carried out or refused by the elector. Always written. */
  adminAct(act: AuditedAct): void {
    this.#writeAct("admin-act", act);
  }

  /** An operator's act by somebody who is no admin. */
  adminActDenied(act: AuditedAct): void {
    if (this.#admit(this.#refusals, `admin-act ${accountOf(act.caller)}`)) this.#writeAct("admin-act", act);
  }

  /** A group that the caller may not see, or a node in whose name it may not act. */
  denied(act: AuditedAct): void {
    const event = act.nodeId === undefined ? "access-denied" : "acting-as";
    if (this.#admit(this.#refusals, `${event} ${accountOf(act.caller)}`)) this.#writeAct(event, act);
  }

  /**
   * An admin took part in the name of a node. Written once for each caller, act, node, group, term and outcome: an admin
   * that renews every second in one term is one line. Without authentication nothing is written here.
   */
  actedAs(act: AuditedAct): void {
    const { caller, act: name, groupId, nodeId, term, outcome } = act;
    if (caller.role !== "admin" || caller.kind === "none") return;
    const account = accountOf(caller);
    const key = [account, name, nodeId, groupId, term, outcome].join("\n");
    if (this.#written.has(key)) return;
    this.#written.add(key);
    if (this.#written.size > MAX_REMEMBERED) this.#written.delete(this.#written.values().next().value ?? "");
    if (this.#admit(this.#acting, `acting-as ${account}`)) this.#writeAct("acting-as", act);
  }

  loginFailed({ kind, reason, origin }: FailedLogin): void {
    if (!this.#admit(this.#refusals, `login-failed ${addressAccount(origin?.remoteAddress ?? "unknown")}`))
      return;
    this.#write("login-failed", origin, {
      caller: { kind, role: null, name: null },
      outcome: "UNAUTHENTICATED",
      reason: reason.slice(0, MAX_REASON),
    });
  }

  /** A request that was being answered ended, because its credentials are not accepted any more. */
  cutOff({ kind, role, name, origin }: Caller, reason: string): void {
    this.#write("cut-off", origin, {
      caller: { kind, role, name },
      outcome: "UNAUTHENTICATED",
      reason: reason.slice(0, MAX_REASON),
    });
  }

  /** Closes a file that was renamed, and continues in a new one. */
  reopen(): void {
    this.#sink.reopen();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#cancelSummary?.();
    this.#summarize();
    this.#sink.close();
  }

  #admit(gate: FloodGate, key: string): boolean {
    const isAdmitted = gate.admit(key);
    if (!isAdmitted) this.#cancelSummary ??= this.#clock.after(SUMMARY_MS, () => this.#summarize());
    return isAdmitted;
  }

  #writeAct(event: AuditEvent, { caller, act, groupId, nodeId, term, details, outcome }: AuditedAct): void {
    const { kind, role, name, origin } = caller;
    this.#write(event, origin, {
      act,
      caller: { kind, role, name },
      group_id: groupId,
      ...(nodeId === undefined ? {} : { node_id: nodeId }),
      ...(term === undefined ? {} : { term }),
      ...(details === undefined ? {} : { details }),
      outcome,
    });
  }

  #write(event: AuditEvent, origin: Origin | undefined, fields: Readonly<Record<string, unknown>>): void {
    this.#log.info(
      {
        event,
        ...fields,
        remote_address: origin?.remoteAddress ?? null,
        request_id: origin?.requestId ?? null,
        transport: origin?.transport ?? null,
      },
      event,
    );
  }

  #summarize(): void {
    this.#cancelSummary = null;
    for (const gate of [this.#refusals, this.#acting]) {
      const { count, most } = gate.takeSuppressed(MAX_NAMED);
      if (count > 0)
        this.#log.info({ event: "suppressed", count, most: Object.fromEntries(most) }, "suppressed");
    }
  }
}
