/** Each rule of membership, decisions and registry, switched off. */
import type { Mutant } from "../../harness/mutant.js";

export const SERVICE_MUTANTS: readonly Mutant[] = [
  {
    name: "leaving-before-confirmed",
    rule: "a leave that may still be refused changes nothing",
    profile: "oneway",
    patches: [
      {
        file: "peers/membership/announcer.ts",
        find: "if (anyway) membership.leaving",
        replace: "membership.leaving",
      },
      {
        file: "peers/membership/announcer.ts",
        find: "const { failed } = await this.#toAll(active, (endpoint, signal) => calls.reach(endpoint, signal));",
        replace: "const failed = [];",
      },
    ],
  },
  {
    name: "open-decisions-forgotten",
    rule: "what is not applied everywhere is never forgotten",
    profile: "decisions",
    patches: [
      {
        file: "peers/decisions/decision-log.ts",
        find: "doneForMs !== null && doneForMs >= RETENTION_MS",
        replace: "true",
      },
    ],
  },
  {
    name: "asks-no-majority-first",
    rule: "a majority is asked what it remembers before anything is proposed",
    profile: "decisions",
    patches: [
      {
        file: "peers/decisions/consensus.ts",
        find: "const decision = binding(prepared.values)?.decision ?? wanted;",
        replace: "const decision = wanted ?? binding(prepared.values)?.decision ?? null;",
      },
    ],
  },
  {
    name: "versions-ignored",
    rule: "of two states of an entry of the registry the higher version stands",
    profile: "decisions",
    breaks: "liveness",
    patches: [
      {
        file: "peers/registry/rm-registry.ts",
        find: "compareVersions(entry.version, before) > 0 && entry.version.n - before.n <= MAX_VERSION_JUMP",
        replace: "compareVersions(entry.version, before) < 0",
      },
    ],
  },
  {
    name: "negative-ages",
    rule: "a decision that is younger than the uptime after a crash has the age 0",
    profile: "decisions",
    breaks: "liveness",
    patches: [
      {
        file: "peers/decisions/decision-log.ts",
        find: "Math.max(0, uptime.nowMs() - stored.doneAtMs)",
        replace: "uptime.nowMs() - stored.doneAtMs",
      },
    ],
  },
  {
    name: "asks-what-one-remembers",
    rule: "a decision that one elector remembers is proposed, not only asked for",
    profile: "decisions",
    breaks: "liveness",
    patches: [
      {
        file: "peers/decisions/carrying-over.ts",
        find: "consensus.makeFinal(txnId, decision, term)",
        replace: "consensus.makeFinal(txnId, null, term)",
      },
      {
        file: "peers/decisions/decider.ts",
        find: "signal.throwIfAborted(); await this.#consensus.makeFinal(txnId, decision, term);",
        replace: "signal.throwIfAborted(); await this.#consensus.makeFinal(txnId, null, term);",
      },
    ],
  },
  {
    name: "unpromised-terms",
    rule: "a coordinator is obeyed only in the term that this server has voted for",
    profile: "decisions",
    patches: [
      {
        file: "peers/wire/offices.ts",
        find: "if (held !== null && (term < held.term ||",
        replace: "if (held !== null && (true ||",
      },
    ],
  },
  {
    name: "coordinators-of-other-clusters",
    rule: "a coordinator of another cluster is not obeyed",
    profile: "decisions",
    patches: [
      { file: "peers/wire/offices.ts", find: "if (config.cluster !== cluster)", replace: "if (false)" },
    ],
  },
  {
    name: "coordinators-without-an-office",
    rule: "a coordinator is an elector",
    profile: "decisions",
    patches: [
      { file: "peers/wire/offices.ts", find: "if (!isElector(config, caller))", replace: "if (false)" },
    ],
  },
  {
    name: "absurd-versions",
    rule: "no version of an entry of the registry is far above the one that is known",
    profile: "decisions",
    patches: [
      {
        file: "peers/registry/rm-registry.ts",
        find: " && entry.version.n - before.n <= MAX_VERSION_JUMP",
        replace: "",
      },
    ],
  },
  {
    name: "contradicted-changes-reported",
    rule: "a change of the registry that others contradict has failed",
    breaks: "liveness",
    patches: [
      {
        file: "peers/registry/rm-replicator.ts",
        find: "if (attempt === ATTEMPTS) {",
        replace: 'if (attempt === ATTEMPTS) { return { kind: "applied" };',
      },
    ],
  },
  {
    name: "goodbyes-once",
    rule: "a goodbye that was missed is said again",
    breaks: "liveness",
    patches: [
      {
        file: "peers/membership/announcer.ts",
        find: "await this.#sayGoodbyeAgain();",
        replace: "void 0;",
      },
    ],
  },
  {
    name: "members-kept-for-ever",
    rule: "a member that is long gone and no elector is forgotten",
    breaks: "liveness",
    patches: [
      { file: "peers/membership/membership.ts", find: "if (old.length === 0)", replace: "if (true)" },
    ],
  },
  {
    name: "twins-unnoticed",
    rule: "a disk that comes back after it was replaced shows that one bundle runs twice",
    breaks: "liveness",
    patches: [
      {
        file: "peers/membership/membership.ts",
        find: "isBack ? { contestedSince: since } : kept",
        replace: "kept",
      },
    ],
  },
];
