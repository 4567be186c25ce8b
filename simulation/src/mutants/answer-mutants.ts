/** Mutants of the rules on writes and answers: what a yes and a no stand on. */
import type { Mutant, Patch } from "../harness/mutant.js";

const engine = "elector/engine.js";
const campaigns = "elector/campaigns.js";

/** Writes over whatever has come between, where `condition` holds. */
function blindly(condition: string): Patch {
  return {
    file: engine,
    find: "        const outcome = await this.#batcher.submit({",
    replace: `        const submit = async (op, limitMs) => {
            for (;;) {
                const outcome = await this.#batcher.submit(op, limitMs);
                if (outcome.kind === "swapped" || !(${condition})) return outcome;
                if (outcome.kind === "conflict") op = { ...op, expected: outcome.current?.revision ?? null };
            }
        };
        const outcome = await submit({`,
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
      { file: "rules/renew.js", find: 'kind: "renew",', replace: 'kind: "renew", blind: true,' },
      blindly('change.blind === true && outcome.kind === "conflict"'),
    ],
  },
  {
    name: "no-compare-on-expiry",
    rule: "an expiry is a compare-and-set",
    patches: [
      {
        file: "rules/attend.js",
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
        find: 'return { kind: "uncertain" };',
        replace: 'return { kind: "written", revision: group.revision ?? 0 };',
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
        find: "(seen, now) => {\n            contender.signal",
        replace: "(seen, now, uncertain) => {\n            contender.signal",
      },
      confirmUnwritten("uncertain && decision.kind === 'confirm'"),
    ],
  },
  {
    name: "confirm-any-instance",
    rule: "only the same instance is confirmed",
    patches: [{ file: "record.js", find: " && record.holder.instanceId === instanceId", replace: "" }],
  },
  {
    name: "confirm-deposed",
    rule: "a deposed holder is not confirmed",
    patches: [
      {
        file: "rules/campaign.js",
        find: "isHeldBy(now, candidate.nodeId, candidate.instanceId) && now.deposed === null",
        replace: "isHeldBy(now, candidate.nodeId, candidate.instanceId)",
      },
    ],
  },
  {
    name: "renew-deposed",
    rule: "a deposed holder does not renew",
    patches: [{ file: "rules/renew.js", find: " || now.deposed !== null)", replace: ")" }],
  },
  {
    name: "stale-no",
    rule: "no is said only from a fresh record",
    patches: [
      {
        file: engine,
        find: "                    if (fresh)\n",
        replace: "                    if (fresh || true)\n",
      },
    ],
  },
  {
    name: "sync-reused",
    rule: "a sync serves only those who came before it was sent",
    patches: [
      {
        file: "elector/freshness.js",
        find: "        if (this.#next === null)\n            this.#next = new Round();",
        replace:
          "        if (this.#unanswered !== null)\n            return this.#unanswered.join(limitMs);\n" +
          "        if (this.#next === null)\n            this.#next = new Round();",
      },
    ],
    profile: "churn",
  },
  {
    name: "reads-judge",
    rule: "reads never judge time",
    patches: [
      {
        file: "elector/views.js",
        find: "    if (holder === null)\n        return null;",
        replace: "    if (holder === null || ageMs >= holdMs)\n        return null;",
      },
    ],
  },
];
