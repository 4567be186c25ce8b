/**
 * The life of one role in this process: campaign, lead, give up.
 *
 * Each attempt is a separate `Election`, which ends with the first loss; the manager decides whether to campaign again.
 * A role that depends on another ends before it: its work before the other's `onRoleDemote`, its lease before the
 * other's.
 */
import { onAbort } from "@tenure/core/internal";
import type { Election } from "../election/election.js";
import { Backoff, isPermanent, Rest } from "../election/retry.js";
import type { DemoteReason, Mandate } from "../election/state.js";
import type { ParsedElection } from "../election/options.js";
import type { ParsedRole } from "./options.js";
import { isOfProcess, type RoleDemoteReason, type RoleState } from "./state.js";

export interface RoleParts {
  readonly options: ParsedElection;
  /** A new one, not started. */
  readonly election: (spec: ParsedRole) => Election;
  readonly dependents: () => readonly Role[];
  /** How long other processes leave a vacant role to this one before they take it. */
  readonly othersWaitMs: () => number;
  /** The user's hook. Rejects if it failed, and the role is to be given up. */
  readonly promoted: (role: Role, mandate: Mandate, signal: AbortSignal) => Promise<void>;
  /** The user's hook; never rejects. Only after `promoted`. */
  readonly demoted: (role: Role, reason: RoleDemoteReason) => Promise<void>;
  /** The role is no longer led here: for the reason given to `release`, or `null` if it was lost. */
  readonly gone: (role: Role, reason: RoleDemoteReason | null) => void;
  readonly changed: (role: Role) => void;
  readonly failed: (role: Role, error: unknown) => void;
}

export class Role {
  readonly spec: ParsedRole;
  readonly #parts: RoleParts;
  readonly #backoff: Backoff;
  readonly #rest: Rest;
  #state: RoleState = { kind: "out" };
  #election: Election | null = null;
  #act: () => void = () => {};
  #asked: RoleDemoteReason | null = null;
  #releasing: Promise<void> | null = null;
  #ending: Promise<void> | null = null;
  #error: unknown = null;
  #workError: unknown = null;
  /** When its work began; `null` while there is none. */
  #actsSinceMs: number | null = null;
  #triesAtMs: number = Number.NEGATIVE_INFINITY;
  #restsUntilMs: number = Number.NEGATIVE_INFINITY;

  constructor(spec: ParsedRole, parts: RoleParts) {
    this.spec = spec;
    this.#parts = parts;
    const { retry, random } = parts.options;
    this.#backoff = new Backoff(retry, random);
    this.#rest = new Rest(retry, random);
  }

  get state(): RoleState {
    return this.#state;
  }

  /** This process campaigns for it or holds it. */
  get isHere(): boolean {
    return this.#state.kind !== "out" && this.#state.kind !== "releasing";
  }

  get isWon(): boolean {
    return this.#state.kind === "won" || this.#state.kind === "leading";
  }

  get error(): unknown {
    return this.#error ?? this.#workError;
  }

  /** After its work has failed here, other processes may take it until then, whatever the watch shows. */
  get restsUntilMs(): number {
    return this.#restsUntilMs;
  }

  /** No campaign before this time. */
  get notBeforeMs(): number {
    return Math.max(this.#triesAtMs, this.#restsUntilMs);
  }

  isLeader(): boolean {
    return this.#state.kind === "leading" && this.#election?.isLeader() === true;
  }

  mandate(): Mandate | null {
    return this.isLeader() ? (this.#election?.mandate() ?? null) : null;
  }

  /** There is news of the role: earlier losses no longer count. */
  forgive(): void {
    if (this.#error !== null) return;
    this.#backoff.reset();
    this.#triesAtMs = Number.NEGATIVE_INFINITY;
  }

  /** Resolves when the first campaign was answered or has failed. A role that does not win is out again, unless it waits. */
  async seek(): Promise<void> {
    const election = this.#parts.election(this.spec);
    this.#election = election;
    this.#error = null;
    this.#move({ kind: "seeking" });
    election.onPromote((mandate, signal) => this.#lead(mandate, signal));
    election.onDemote((reason) => this.#demoted(reason));
    await election.start().catch((error: unknown) => this.#fail(error));
    if (election.isLeader() || this.#state.kind !== "seeking") return;
    if (this.spec.campaignWaitMs > 0 && this.#error === null) return;
    await this.#end();
  }

  /** Everything needed for its work is there. */
  act(): void {
    this.#act();
  }

  /** Idempotent; the first reason counts. Resolves when the lease was given back. */
  release(reason: RoleDemoteReason): Promise<void> {
    if (this.#state.kind === "out") return Promise.resolve();
    if (this.#state.kind !== "releasing") this.#asked = reason;
    this.#releasing ??= this.#release(reason);
    return this.#releasing;
  }

  async #release(reason: RoleDemoteReason): Promise<void> {
    this.#leave(reason);
    await this.#releaseDependents(reason);
    await this.#end();
  }

  async #releaseDependents(reason: RoleDemoteReason): Promise<void> {
    const why = isOfProcess(reason) ? reason : "dependency-lost";
    await Promise.all(this.#parts.dependents().map((each) => each.release(why)));
  }

  async #lead(mandate: Mandate, signal: AbortSignal): Promise<void> {
    // If an answer came while the role was being released, the election itself gives the lease back.
    if (this.#state.kind !== "seeking" || signal.aborted) return;
    this.#backoff.reset();
    const over = new Promise<void>((resolve) => {
      onAbort(signal, () => {
        this.#lost();
        resolve();
      });
    });
    const acting = new Promise<void>((resolve) => {
      this.#act = resolve;
    });
    this.#move({ kind: "won", mandate });
    await Promise.race([acting, over]);
    if (this.isWon) {
      this.#move({ kind: "leading", mandate });
      this.#actsSinceMs = this.#parts.options.clock.monotonicMs();
      this.#workError = null;
      await this.#parts.promoted(this, mandate, signal).catch((error: unknown) => {
        this.#workError = error;
        void this.release("promote-failed");
      });
    }
    await over;
    await this.#releaseDependents("dependency-lost");
  }

  #lost(): void {
    if (this.#state.kind === "releasing") return;
    this.#leave(null);
    void this.#releaseDependents("dependency-lost");
  }

  #leave(reason: RoleDemoteReason | null): void {
    if (this.#state.kind === "releasing") return;
    this.#move({ kind: "releasing" });
    this.#parts.gone(this, reason);
  }

  async #demoted(reason: DemoteReason): Promise<void> {
    await this.#endWork(this.#asked ?? reason);
    // The election must not campaign again by itself.
    void this.#end();
  }

  async #endWork(reason: RoleDemoteReason): Promise<void> {
    const { options, demoted, othersWaitMs } = this.#parts;
    const sinceMs = this.#actsSinceMs;
    if (sinceMs === null) return;
    await demoted(this, reason);
    this.#actsSinceMs = null;
    const nowMs = options.clock.monotonicMs();
    const restMs = this.#rest.afterMs(reason === "promote-failed", nowMs - sinceMs);
    if (restMs > 0) this.#restsUntilMs = nowMs + restMs + othersWaitMs();
  }

  #end(): Promise<void> {
    const election = this.#election;
    this.#ending ??= (election?.stop() ?? Promise.resolve()).then(() => this.#out());
    return this.#ending;
  }

  #out(): void {
    this.#election = null;
    this.#asked = null;
    this.#releasing = null;
    this.#ending = null;
    this.#act = () => {};
    const { clock } = this.#parts.options;
    this.#triesAtMs = clock.monotonicMs() + this.#backoff.next(this.#error ?? undefined);
    this.#move({ kind: "out" });
  }

  #fail(error: unknown): void {
    if (!isPermanent(error)) return;
    this.#error = error;
    this.#parts.failed(this, error);
  }

  #move(next: RoleState): void {
    this.#state = next;
    this.#parts.changed(this);
  }
}
