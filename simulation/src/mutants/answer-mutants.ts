/** Mutants of the rules on writes and answers: what a yes and a no stand on. */
import type { Mutant } from "../harness/mutant.js";
import type { Patch } from "../harness/patch.js";

const engine = "core/elector/engine.ts";
const campaigns = "core/elector/campaigns.ts";

/** Writes over whatever has come between, where `condition` holds. */
function blindly(condition: string): Patch {
  return {
    file: engine,
    find: "const outcome = await this.#batcher.submit(op, callMs);",
    replace: `        const submit = async (op, limitMs) => {
            for (;;) {
                const outcome = await this.#batcher.submit(op, limitMs);
                if (outcome.kind === "swapped" || !(${condition})) return outcome;
                if (outcome.kind === "conflict") op = { ...op, expected: outcome.current?.revision ?? null };
            }
        };
        const outcome = await submit(op, callMs);`,
  };
}

/** Confirms a campaign from memory where `condition` holds. */
function confirmUnwritten(condition: string): Patch {
  const decided = "const decision = this.#decide(seen, now, candidate);";
  return {
    file: campaigns,
    find: decided,
    replace: `${decided} if (${condition}) return { kind: "stay", value: electedAt(now, contender, decision) };`,
  };
}

export const ANSWER_MUTANTS: readonly Mutant[] = [
  {
    name: "no-compare-on-renew",
    rule: "a renewal is a compare-and-set",
    patches: [
      { file: "core/rules/renew.ts", find: 'kind: "renew",', replace: 'kind: "renew", blind: true,' },
      blindly('change.blind === true && outcome.kind === "conflict"'),
    ],
  },
  {
    name: "no-compare-on-expiry",
    rule: "an expiry is a compare-and-set",
    patches: [
      {
        file: "core/rules/upkeep.ts",
        find: 'return { kind: "write", ...ending };',
        replace: 'return { kind: "write", ...ending, blind: true };',
      },
      blindly('change.blind === true && outcome.kind === "conflict"'),
    ],
  },
  {
    name: "uncertain-is-failed",
    rule: "an uncertain write is looked at before it is tried again",
    patches: [blindly("true")],
  },
  {
    name: "uncertain-is-done",
    rule: "an uncertain write is not taken for written",
    patches: [
      {
        file: engine,
        find: "const outcome = await this.#batcher.submit(op, callMs);",
        replace: `const outcome = await this.#batcher.submit(op, callMs);
          if (outcome.kind === "uncertain") {
            dropped = undefined;
            step.landed?.(group.revision ?? 0);
            if (step.written !== "decide again") return step.written(change.next);
            fresh = true;
            continue;
          }`,
      },
    ],
  },
  {
    name: "confirm-unwritten",
    rule: "only a write gives a lease",
    patches: [confirmUnwritten("decision.kind === 'confirm'")],
  },
  {
    name: "look-and-find-oneself",
    rule: "finding oneself in the record after an uncertain write gives nothing",
    patches: [
      {
        file: campaigns,
        find: "(seen, now): Step<CampaignResult | W> => { contender.signal",
        replace: "(seen, now, uncertain) => { contender.signal",
      },
      confirmUnwritten("uncertain && decision.kind === 'confirm'"),
    ],
  },
  {
    name: "confirm-any-instance",
    rule: "only the same instance is confirmed",
    patches: [{ file: "core/record.ts", find: " && record.holder.instanceId === instanceId", replace: "" }],
  },
  {
    name: "confirm-deposed",
    rule: "a deposed holder is not confirmed",
    patches: [
      {
        file: "core/rules/campaign.ts",
        find: "isHeldBy(now, candidate.nodeId, candidate.instanceId) && now.deposed === null",
        replace: "isHeldBy(now, candidate.nodeId, candidate.instanceId)",
      },
    ],
  },
  {
    name: "renew-deposed",
    rule: "a deposed holder does not renew",
    patches: [{ file: "core/rules/renew.ts", find: " || record.deposed !== null)", replace: ")" }],
  },
  {
    name: "stale-no",
    rule: "no is said only from a fresh record",
    patches: [
      {
        file: engine,
        find: "if (fresh)",
        replace: "if (fresh || true)",
      },
    ],
  },
  {
    name: "sync-reused",
    rule: "a sync serves only those who came before it was sent",
    patches: [
      {
        file: "core/elector/read-barrier.ts",
        find: "if (this.#next === null) this.#next = new Round();",
        replace:
          "if (this.#unanswered !== null) return this.#unanswered.join(limitMs);" +
          "if (this.#next === null) this.#next = new Round();",
      },
    ],
    profile: "churn",
  },
  {
    name: "reads-judge",
    rule: "reads never judge time",
    patches: [
      {
        file: "core/elector/views.ts",
        find: "if (holder === null) return null;",
        replace: "if (holder === null || ageMs >= holdMs) return null;",
      },
    ],
  },
];
