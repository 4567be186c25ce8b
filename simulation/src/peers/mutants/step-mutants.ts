/** Rules of leaders: steps of the electorate, leaving. Switched off. */
import type { Mutant } from "../../harness/mutant.js";

export const STEP_MUTANTS: readonly Mutant[] = [
  {
    name: "old-majority-not-asked",
    rule: "a step is done when a majority of the old members has stored it",
    profile: "views",
    patches: [
      {
        file: "peers/protocol/term-state.ts",
        find: "if (!isMajority(this.#config.members, hasStored))",
        replace: "if (false)",
      },
    ],
  },
  {
    name: "new-majority-not-asked",
    rule: "a step is done when a majority of the new members has stored it",
    profile: "views",
    patches: [
      {
        file: "peers/protocol/term-state.ts",
        find: "if (!isMajority(step.config.members, hasStored))",
        replace: "if (false)",
      },
    ],
  },
  {
    name: "leader-stores-first",
    rule: "a leader writes its own copy of a step last",
    profile: "views",
    patches: [
      {
        file: "peers/protocol/term-loop.ts",
        find: "voter.renew({ ...request, config: this.config })",
        replace: "voter.renew({ ...request, config: round.config })",
      },
    ],
  },
  {
    name: "adds-whom-it-does-not-reach",
    rule: "a member is added only if it granted the latest round at the announced endpoint",
    profile: "oneway",
    patches: [
      {
        file: "peers/protocol/electorate.ts",
        find: "return granted !== undefined && granted.endpoint === endpoint && granted.disk === disk;",
        replace: "return true;",
      },
    ],
  },
  {
    name: "steps-not-withdrawn",
    rule: "a step that is not done within a ttl is withdrawn",
    breaks: "liveness",
    patches: [
      {
        file: "peers/protocol/term-state.ts",
        find: "nowMs - this.#open.sinceMs >= this.#ttlMs",
        replace: "false",
      },
    ],
  },
  {
    name: "leavers-stay",
    rule: "an elector that left is removed",
    breaks: "liveness",
    patches: [
      { file: "peers/protocol/electorate.ts", find: "if (gone !== undefined)", replace: "if (false)" },
    ],
  },
  {
    name: "removal-waits",
    rule: "an elector that left is removed at once, not at the next regular rounds",
    breaks: "liveness",
    patches: [
      {
        file: "peers/protocol/term-state.ts",
        find: "if (this.#open !== null || !this.#isLeading) return false;",
        replace: "return false;",
      },
    ],
  },
  {
    name: "silence-leaves-even-electorates",
    rule: "an elector is removed for silence only if an odd number is left",
    profile: "usual",
    patches: [
      {
        file: "peers/protocol/electorate.ts",
        find: "return size % 2 === 0 ? expired >= 1 : expired >= 2;",
        replace: "return expired >= 1;",
      },
    ],
  },
  {
    name: "leader-removes-itself",
    rule: "a leader never removes itself",
    patches: [
      {
        file: "peers/protocol/electorate.ts",
        find: ".filter((identity) => identity !== leaderId)",
        replace: "",
      },
    ],
  },
  {
    name: "disks-replaced-in-place",
    rule: "a member over another disk is removed, then added: two steps",
    profile: "wipes",
    patches: [
      {
        file: "peers/protocol/electorate.ts",
        find: "if (replaced !== undefined) return without(members, replaced);",
        replace: "if (replaced !== undefined) return withMember(members, announcedBy.get(replaced));",
      },
    ],
  },
  {
    name: "contested-identities-replaced",
    rule: "an identity that two servers announce in turn is neither removed nor added",
    breaks: "liveness",
    patches: [
      { file: "peers/protocol/electorate.ts", find: "contested !== true", replace: "contested !== 1" },
    ],
  },
  {
    name: "higher-terms-depose",
    rule: "a higher term alone in a refusal is no reason to stop",
    breaks: "liveness",
    patches: [
      {
        file: "peers/protocol/term-state.ts",
        find: "if (!granted)",
        replace:
          'if (!granted && state.term > this.term) return { kind: "superseded", config: this.#config }; if (!granted)',
      },
    ],
  },
  {
    name: "released-by-anybody",
    rule: "a leaving server stops only by the leader's own answer",
    profile: "churn",
    patches: [{ file: "peers/protocol/leaving.ts", find: "if (!leading || ", replace: "if (" }],
  },
  {
    name: "released-by-an-older-electorate",
    rule: "a leaving server stops by no older electorate than its own",
    profile: "churn",
    patches: [
      {
        file: "peers/protocol/leaving.ts",
        find: "compareEpochs(config.epoch, own.epoch) >= 0 && ",
        replace: "",
      },
    ],
  },
  {
    name: "last-elector-leaves",
    rule: "the only elector leads until another is added, before it leaves",
    breaks: "liveness",
    patches: [
      {
        file: "peers/protocol/leaving.ts",
        find: "return isLast && membership",
        replace: "return false && membership",
      },
    ],
  },
];
