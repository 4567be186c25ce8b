/**
 * Named polls at their intervals, spread over the healthy members.
 *
 * Promised: no poll is dispatched twice within one interval, also when the leadership moves. A new coordinator does not know
 * when its predecessor dispatched last, so it begins one interval after it was elected, unless `lastRunAgeMs` tells;
 * and what the predecessor sent late is refused by its lower term (`PollGate`). Jitter only ever lengthens an interval.
 */
import { type Clock, InvalidRequestError, sleep, systemClock } from "@tenure/core";
import {
  checkInteger,
  checkKeys,
  checkNumber,
  onAbort,
  isObject,
  LinkedController,
  rendezvous,
} from "@tenure/core/internal";
import type { ChildContext, ChildSpec } from "../supervisor/child.js";
import { functionChild } from "../supervisor/function-child.js";

export interface Poll {
  readonly name: string;
  readonly intervalMs: number;
  /** Each wait is lengthened by up to this part of the interval, so that polls do not march in step. */
  readonly jitter?: number;
  /** At most, and by default, the interval. */
  readonly timeoutMs?: number;
}

/** One poll that has to be run now. */
export interface Dispatch {
  /** The `name` of the poll. */
  readonly poll: string;
  /** The node that shall run it: one of `members()`, a `nodeId` where these come from `ClusterHealth`. */
  readonly memberId: string;
  /** The term of this coordinator. Send it along: the member's `PollGate` refuses a lower one than it has seen. */
  readonly term: number;
  /** Aborts when the poll takes too long, and when this coordinator has to stop. */
  readonly signal: AbortSignal;
}

export type PollOutcome =
  | { readonly kind: "ok"; readonly value: unknown }
  | { readonly kind: "failed"; readonly error: unknown }
  | { readonly kind: "timed-out" }
  /** No member was healthy. */
  | { readonly kind: "nobody" };

export interface PollResult {
  readonly poll: string;
  readonly memberId: string | null;
  readonly term: number;
  readonly outcome: PollOutcome;
  readonly durationMs: number;
}

export interface PollOrchestratorOptions {
  readonly polls: readonly Poll[];
  /** Gives the poll to a member and resolves with its result. */
  readonly dispatch: (dispatch: Dispatch) => Promise<unknown>;
  /** The ids of the members that polls may be dispatched to, asked before each dispatch. */
  readonly members: () => readonly string[];
  /**
   * How long ago any coordinator dispatched this poll last, in milliseconds; `null` if that is not known. A new coordinator asks it
   * once per poll, so that a poll that is due is not delayed by a takeover.
   *
   * @defaultValue not known: each poll begins one interval after this coordinator has become the leader
   */
  readonly lastRunAgeMs?: (poll: string) => Promise<number | null>;
  /** Called with the result of each dispatch, for example to store when a poll ran. @defaultValue none */
  readonly recorded?: (result: PollResult) => void;
  /**
   * For tests.
   *
   * @defaultValue the machine's clock
   */
  readonly clock?: Clock | undefined;
  /**
   * From 0 up to 1, for `jitter`. One that is always the same makes all polls march in step.
   *
   * @defaultValue Math.random
   */
  readonly random?: (() => number) | undefined;
}

const MAX_MS = 86_400_000;
const KNOWN: readonly (keyof PollOrchestratorOptions)[] = [
  "polls",
  "dispatch",
  "members",
  "lastRunAgeMs",
  "recorded",
  "clock",
  "random",
];

export class PollOrchestrator {
  readonly #options: PollOrchestratorOptions & { readonly clock: Clock; readonly random: () => number };
  readonly #polls: readonly Required<Poll>[];
  readonly #last = new Map<string, PollResult>();

  constructor(options: PollOrchestratorOptions) {
    checkKeys(options, "", KNOWN);
    const { clock = systemClock, random = Math.random } = options;
    for (const [name, value] of Object.entries({
      dispatch: options.dispatch,
      members: options.members,
      random,
    })) {
      if (typeof value !== "function") throw new InvalidRequestError(name, "must be a function");
    }
    if (!Array.isArray(options.polls)) throw new InvalidRequestError("polls", "must be a list");
    this.#options = { ...options, clock, random };
    this.#polls = options.polls.map(parsePoll);
    const names = this.#polls.map(({ name }) => name);
    const twice = names.find((name, index) => names.indexOf(name) < index);
    if (twice !== undefined) throw new InvalidRequestError("polls", `name ${twice} twice`);
  }

  /** What became of each poll the last time. */
  get results(): readonly PollResult[] {
    return [...this.#last.values()];
  }

  child(): ChildSpec {
    return functionChild("poll-orchestrator", async (context) => {
      const ending = new LinkedController(context.signal);
      const { signal } = ending;
      const polling = this.#polls.map((poll) => this.#keepPolling(poll, { ...context, signal }));
      try {
        await Promise.all(polling);
      } finally {
        // When one loop fails, all end: the supervisor starts new ones, and no two loops of a poll may run at once.
        ending.unlink();
        ending.abort();
        await Promise.allSettled(polling);
      }
    });
  }

  async #keepPolling(poll: Required<Poll>, { term, signal, lease }: ChildContext): Promise<void> {
    const { clock, random, lastRunAgeMs } = this.#options;
    const ageMs = (await lastRunAgeMs?.(poll.name)) ?? 0;
    checkNumber(ageMs, `lastRunAgeMs(${JSON.stringify(poll.name)})`, 0, Number.POSITIVE_INFINITY);
    const pause = (leastMs: number) =>
      sleep(clock, leastMs + poll.intervalMs * poll.jitter * random(), signal).catch(() => {});
    await pause(Math.max(0, poll.intervalMs - ageMs));
    while (!signal.aborted) {
      const startedAtMs = clock.monotonicMs();
      // After a pause of this process the clock may know of the end before the signal does.
      if (lease.leftMs() > 0) this.#record(await this.#poll(poll, term, signal));
      await pause(poll.intervalMs - (clock.monotonicMs() - startedAtMs));
    }
  }

  async #poll(poll: Required<Poll>, term: number, signal: AbortSignal): Promise<PollResult> {
    const { clock, dispatch, members } = this.#options;
    const memberId = rendezvous(poll.name, members());
    const startedAtMs = clock.monotonicMs();
    const result = (outcome: PollOutcome): PollResult => {
      return { poll: poll.name, memberId, term, outcome, durationMs: clock.monotonicMs() - startedAtMs };
    };
    if (memberId === null) return result({ kind: "nobody" });
    const limit = new AbortController();
    return new Promise((resolve) => {
      const end = (outcome: PollOutcome) => {
        cancel();
        stopListening();
        resolve(result(outcome));
        limit.abort();
      };
      const stop = () => end({ kind: "failed", error: signal.reason });
      const cancel = clock.after(poll.timeoutMs, () => end({ kind: "timed-out" }));
      const stopListening = onAbort(signal, stop);
      void (async () => dispatch({ poll: poll.name, memberId, term, signal: limit.signal }))().then(
        (value) => end({ kind: "ok", value }),
        (error: unknown) => end({ kind: "failed", error }),
      );
    });
  }

  #record(result: PollResult): void {
    this.#last.set(result.poll, result);
    this.#options.recorded?.(result);
  }
}

function parsePoll(given: Poll, index: number): Required<Poll> {
  const field = `polls[${index}]`;
  if (!isObject(given)) throw new InvalidRequestError(field, "must be an object");
  checkKeys(given, field, ["name", "intervalMs", "jitter", "timeoutMs"]);
  const { name, intervalMs, jitter = 0.1, timeoutMs } = given;
  if (typeof name !== "string" || name === "")
    throw new InvalidRequestError(`${field}.name`, "must be a text");
  checkInteger(intervalMs, `${field}.intervalMs`, 1, MAX_MS);
  const timeout = checkInteger(timeoutMs ?? intervalMs, `${field}.timeoutMs`, 1, MAX_MS);
  if (timeout > intervalMs) {
    throw new InvalidRequestError(
      `${field}.timeoutMs`,
      `is ${timeout} and must be at most intervalMs, which is ${intervalMs}`,
    );
  }
  return { name, intervalMs, jitter: checkNumber(jitter, `${field}.jitter`, 0, 1), timeoutMs: timeout };
}
