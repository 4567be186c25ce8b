/** Rules of votes, candidates and first starts, switched off. */
import type { Mutant } from "../../harness/mutant.js";

/** How a voter decides a request. */
const ACQUIRES = "this.#carryOut(decideAcquire(this.#state(), request, this.#time()), false)";
const RENEWS = "this.#carryOut(decideRenew(this.#state(), request, this.#time()), true)";

export const VOTER_MUTANTS: readonly Mutant[] = [
  {
    name: "forgotten-electorates",
    rule: "the electorate is durable",
    profile: "churn",
    breaks: "liveness",
    patches: [
      { file: "peers/protocol/voter.ts", find: "(config === undefined ? {} : { config })", replace: "{}" },
      { file: "peers/protocol/voter.ts", find: "await this.#options.disk.write({ config });", replace: "" },
    ],
  },
  {
    name: "other-clusters",
    rule: "requests and electorates of another cluster are refused",
    patches: [
      {
        file: "peers/protocol/voting.ts",
        find: "if (config !== null && config.cluster !== request.config.cluster)",
        replace: "if (false)",
      },
    ],
  },
  {
    name: "lower-terms",
    rule: "a vote is for a higher term than every vote before",
    profile: "duels",
    patches: [
      {
        file: "peers/protocol/voting.ts",
        find: "if (again === null && held !== null && term <= held.vote.term)",
        replace: "if (false)",
      },
    ],
  },
  {
    name: "lower-renewals",
    rule: "a renewal of a lower term than the vote's is refused",
    profile: "late",
    patches: [
      {
        file: "peers/protocol/voting.ts",
        find: "if (held !== null && term < held.vote.term)",
        replace: "if (false)",
      },
    ],
  },
  {
    // Voters refuse a candidate whose term is not above that of its electorate: that rule is off too.
    name: "former-terms-resumed",
    rule: "a restarted server never goes on with a term of its former life",
    patches: [
      { file: "peers/protocol/voting.ts", find: "if (epoch.term >= term)", replace: "if (false)" },
      {
        file: "peers/protocol/candidacy-decision.ts",
        find: "term: highest + 1",
        replace: "term: own.lease?.leaderId === own.identity ? own.lease.term : highest + 1",
      },
    ],
  },
  {
    name: "decisions-interleave",
    rule: "a voter decides one request after the other",
    profile: "duels",
    patches: [ACQUIRES, RENEWS].map((decides) => ({
      file: "peers/protocol/voter.ts",
      find: `this.#queue.run(() => ${decides})`,
      replace: decides,
    })),
  },
  {
    name: "answers-of-an-earlier-state",
    rule: "an answer shows the state as it was at its own decision",
    profile: "duels",
    patches: [
      {
        file: "peers/protocol/voter.ts",
        find: `return this.#queue.run(() => ${ACQUIRES});`,
        replace: `const arrived = this.state();
          return this.#queue.run(async () => {
            const verdict = await ${ACQUIRES};
            return verdict.granted ? verdict : { ...verdict, state: arrived };
          });`,
      },
    ],
  },
  {
    name: "refused-renewals-stored",
    rule: "a refused renewal stores nothing",
    profile: "absurd",
    patches: [
      {
        file: "peers/protocol/voter.ts",
        find: `return this.#queue.run(() => ${RENEWS});`,
        replace: `return this.#queue.run(() => ${RENEWS}).then(async (verdict) => {
            if (!verdict.granted) await this.adopt(config);
            return verdict;
          });`,
      },
    ],
  },
  {
    // Each of the three is enough by itself.
    name: "older-electorates-elect",
    rule: "a candidate takes the newest electorate that it is shown, before it asks for votes and after, and voters refuse an older one",
    profile: "views",
    patches: [
      {
        file: "peers/protocol/voting.ts",
        find: "if (config !== null && compareEpochs(epoch, config.epoch) < 0)",
        replace: "if (false)",
      },
      {
        file: "peers/protocol/candidacy-decision.ts",
        find: "const newest = newestOf(config, ours);",
        replace: "const newest = config;",
      },
      {
        file: "peers/protocol/candidacy-decision.ts",
        find: "if (compareEpochs(newest.epoch, config.epoch) > 0)",
        replace: "if (false)",
      },
    ],
  },
  {
    name: "released-terms-renewed",
    rule: "a term that was released is not granted again",
    breaks: "liveness",
    patches: [
      {
        file: "peers/protocol/voting.ts",
        find: "if (sameGrant(held, leaderId, term)?.released === true)",
        replace: "if (false)",
      },
    ],
  },
  {
    name: "release-by-anybody",
    rule: "a release is obeyed only from the holder",
    profile: "duels",
    patches: [
      {
        file: "peers/protocol/voting.ts",
        find: "return sameGrant(held, leaderId, term) !== null;",
        replace: "return held !== null && held.vote.term === term;",
      },
    ],
  },
  {
    name: "older-electorates-stored",
    rule: "an electorate is stored only if its epoch is higher",
    profile: "late",
    patches: [
      {
        file: "peers/protocol/voting.ts",
        find: "const isNewer = config === null || compareEpochs(epoch, config.epoch) > 0;",
        replace: "const isNewer = true;",
      },
    ],
  },
  {
    name: "votes-not-for-itself",
    rule: "a candidate votes for itself, on disk, before it asks for votes",
    profile: "duels",
    patches: [
      {
        file: "peers/protocol/candidacy.ts",
        find: "[await voter.acquire(request)]",
        replace: "[{ granted: true, state: voter.state() }]",
      },
    ],
  },
  {
    // Voters refuse a candidate that their electorate does not name: that rule is off too.
    name: "strangers-stand",
    rule: "only a member of the electorate stands",
    profile: "churn",
    patches: [
      {
        file: "peers/protocol/candidacy-decision.ts",
        find: "if (!isMember(newest, own.identity, own.disk))",
        replace: "if (false)",
      },
      {
        file: "peers/protocol/voting.ts",
        find: "return compareEpochs(epoch, config.epoch) <= 0;",
        replace: "return false;",
      },
      {
        file: "peers/protocol/voting.ts",
        find: "memberOf(members, leaderId) === undefined || ",
        replace: "",
      },
    ],
  },
  {
    name: "lost-candidacies-kept",
    rule: "a candidate that has lost releases its term everywhere",
    breaks: "liveness",
    patches: [
      {
        file: "peers/protocol/candidacy.ts",
        find: 'void releaseEverywhere(context, [config, tally.kind === "outdated" ? tally.config : null], term);',
        replace: "",
      },
    ],
  },
  {
    name: "releases-before-it-stops",
    rule: "a leader stops acting before it releases",
    profile: "churn",
    patches: [
      {
        file: "peers/protocol/term-loop.ts",
        find: "this.#isOver = true;",
        replace: `        if (ASKED_FOR.has(cause) && this.isLeading && this.early === undefined) {
            this.early = releaseEverywhere(this.#context, [this.config], this.term);
            this.#context.clock.after(this.#led.leftMs() / 2, () => this.end(cause, newer));
            return;
        }
        this.#isOver = true;`,
      },
    ],
  },
  {
    name: "acts-after-the-deadline",
    rule: "a leader acts until its deadline and no longer",
    profile: "usual",
    patches: [
      {
        file: "peers/protocol/term-loop.ts",
        find: 'this.#cancelDeadline = clock.after(this.#led.leftMs() - noticeMs, () => this.end("expired"));',
        replace: "void noticeMs;",
      },
      {
        file: "peers/protocol/term-loop.ts",
        find: "return this.#isOver || !this.#termState.isLeading ? 0 : this.#led.leftMs();",
        replace: "return this.#isOver || !this.#termState.isLeading ? 0 : 1;",
      },
    ],
  },
  {
    name: "answers-of-any-round",
    rule: "answers are matched to their round",
    profile: "duels",
    patches: [
      {
        file: "peers/protocol/term-loop.ts",
        find: "const outcome = this.#termState.answer(round, askedAt, verdict);",
        replace: `        round = this.newest = this.newest === undefined || round.number > this.newest.number ? round : this.newest;
        const outcome = this.#termState.answer(round, askedAt, verdict);`,
      },
    ],
  },
  {
    name: "founds-beside-a-cluster",
    rule: "a founder that finds an electorate takes it",
    profile: "wipes",
    patches: [
      {
        file: "peers/protocol/bootstrap.ts",
        find: "if (known.length > 0)",
        replace: "if (known.length > 0 && founderOf(join) !== own.endpoint)",
      },
    ],
  },
  {
    name: "founds-without-all",
    rule: "a cluster is founded when all join targets have answered",
    patches: [{ file: "peers/protocol/bootstrap.ts", find: "if (silent.length > 0)", replace: "if (false)" }],
  },
  {
    name: "founds-over-another-founder",
    rule: "a cluster is founded when all join targets name the same founder",
    patches: [
      { file: "peers/protocol/bootstrap.ts", find: "if (strangers.length > 0)", replace: "if (false)" },
    ],
  },
  {
    name: "strangers-block-founding",
    rule: "only join targets found together",
    breaks: "liveness",
    patches: [
      {
        file: "peers/protocol/bootstrap.ts",
        find: "join.flatMap((endpoint) => answers.get(endpoint) ?? [])",
        replace: "[...answers.values()]",
      },
    ],
  },
];
