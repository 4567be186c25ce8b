/** Mutants of the client library: what an `Election` promises to the process that it runs in. */
import type { Mutant } from "../harness/mutant.js";
import type { Patch } from "../harness/patch.js";

function patch(file: string, find: string, replace: string): Patch {
  return { file: `client/election/${file}`, find, replace };
}

const profile = "elections";

export const ELECTION_MUTANTS: readonly Mutant[] = [
  {
    name: "is-leader-by-memory",
    rule: "isLeader() looks at the clock",
    patches: [
      patch("lease.ts", "const TRUSTED_MS = 1;", "const TRUSTED_MS = 10_000;"),
      patch("lease.ts", "Math.min(TRUSTED_MS, leftMs)", "TRUSTED_MS"),
    ],
    profile,
  },
  {
    name: "renewal-from-answer",
    rule: "an Election counts a renewal from before it was sent",
    patches: [
      patch(
        "lease-renewer.ts",
        "this.lease.extend({ sent, ttlMs: renewal.ttlMs })",
        "this.lease.extend({ sent: sendMoment(clock), ttlMs: renewal.ttlMs })",
      ),
    ],
    profile,
  },
  {
    name: "demoted-at-work",
    rule: "onDemote follows when the work has ended",
    patches: [
      patch("election-run.ts", "const isPromoted = await work;", "const isPromoted = true;"),
      patch(
        "hooks.ts",
        "this.#last = this.#last.then(async () => {",
        "this.#last = Promise.resolve().then(async () => {",
      ),
    ],
    profile,
  },
  {
    name: "resigned-at-work",
    rule: "a term is resigned only after its work has ended",
    patches: [
      patch(
        "election-run.ts",
        "const reason = await leadership.lost;",
        "const reason = await leadership.lost; await this.#resign(term);",
      ),
    ],
    profile,
  },
  {
    name: "signal-after-the-lease",
    rule: "the signal aborts before the lease is over",
    patches: [
      patch(
        "leadership.ts",
        "this.#cancelWatchdog = clock.after(nextMs, () => this.#watch());",
        "this.#cancelWatchdog = clock.after(nextMs + ttlMs, () => this.#watch());",
      ),
    ],
    profile,
  },
  {
    name: "not-leader-unheard",
    rule: "a leader that is refused stops",
    patches: [
      patch(
        "leadership.ts",
        'notLeader: () => { this.lose("not-leader"); this.release(); }',
        "notLeader: () => {}",
      ),
    ],
    profile,
  },
  {
    name: "promoted-again",
    rule: "a term that was given up is not led again",
    patches: [
      patch("election-run.ts", "term > ended.term && ", ""),
      // Else the resign is answered before the next campaign is sent, mostly.
      patch("election-run.ts", "reason }); await this.#resign(term);", "reason }); void this.#resign(term);"),
    ],
    profile,
  },
  {
    name: "stopped-without-resigning",
    rule: "who stops gives the lease back",
    patches: [
      patch(
        "election-run.ts",
        'if (reason !== "stopped" || this.#resignOnStop)',
        'if (reason !== "stopped" && reason !== "resigned")',
      ),
    ],
    profile,
  },
  {
    name: "news-unheard",
    rule: "a candidate campaigns when the watch shows a vacancy",
    patches: [
      patch(
        "leader-watch.ts",
        "this.#parts.changed(news, this.#previousId);\n    this.#pauses.endAll();",
        "this.#parts.changed(news, this.#previousId);",
      ),
    ],
    profile,
  },
];
