/** Each rule of the protocol, switched off. */
import type { Mutant } from "../../harness/mutant.js";
import type { Patch } from "../../harness/patch.js";

/** Those whom a node takes for active instead of the electorate; `active` is a list of members. */
const asMembers = (active: string): string =>
  `Object.fromEntries(${active}.map((each) => [each.identity, each]))`;

/** Candidates ignore that there is a leader. */
export const NO_QUESTION: readonly Patch[] = [
  {
    file: "peers/protocol/peer-loop.ts",
    find: "if (lease !== null && lease.leaderId !== identity)",
    replace: "if (false)",
  },
  {
    file: "peers/protocol/candidacy-decision.ts",
    find: "if (isLedByAnother(own, own.identity))",
    replace: "if (false)",
  },
  {
    file: "peers/protocol/candidacy-decision.ts",
    find: "answered.has(identity) && !isBound.has(identity)",
    replace: "true",
  },
];

export const PROTOCOL_MUTANTS: readonly Mutant[] = [
  {
    name: "forgotten-votes",
    rule: "votes are durable",
    profile: "views",
    patches: [{ file: "peers/protocol/voter.ts", find: "(isKnown ? {} : { vote })", replace: "{}" }],
  },
  {
    name: "no-wait-after-restart",
    rule: "after a restart ttl and margin pass before another is granted",
    profile: "usual",
    patches: [
      {
        file: "peers/protocol/voter.ts",
        find: "{ vote, since: sendMoment(options.clock), released: false }",
        replace: "{ vote, since: { monotonicMs: -1e9, bootMs: -1e9 }, released: false }",
      },
    ],
  },
  {
    name: "active-members-vote",
    rule: "the electorate decides, not the active membership",
    profile: "views",
    patches: [
      {
        file: "peers/protocol/candidacy.ts",
        find: "const sent = sendMoment(clock);",
        replace: `    const sent = sendMoment(clock);
    const named = config;
    config = { ...config, members: ${asMembers("context.membership.active()")} };`,
      },
      {
        file: "peers/protocol/candidacy.ts",
        find: "return conclude(context, tally, config, term, sent);",
        replace: "return conclude(context, tally, named, term, sent);",
      },
      {
        file: "peers/protocol/candidacy-decision.ts",
        find: "if (!isMajority(newest.members, (identity) => answered.has(identity)))",
        replace: "if (answered.size === 0)",
      },
      {
        file: "peers/protocol/term-state.ts",
        find: "const nowMs = sent.monotonicMs;",
        replace: `        const nowMs = sent.monotonicMs;\n        this.active = ${asMembers("wishes.active")};`,
      },
      {
        file: "peers/protocol/term-state.ts",
        find: "const { members } = this.#config;",
        replace: "const members = this.active;",
      },
      {
        file: "peers/protocol/term-state.ts",
        find: "if (!isMajority(this.#config.members, hasStored))",
        replace: "if (!isMajority(this.active, hasStored))",
      },
      {
        file: "peers/protocol/term-state.ts",
        find: "if (!isMajority(step.config.members, hasStored))",
        replace: "if (false)",
      },
    ],
  },
  {
    name: "many-members-per-step",
    rule: "the electorate changes by one member per step",
    profile: "views",
    patches: [
      {
        file: "peers/protocol/electorate.ts",
        find: "const { members } = config;",
        replace: `    const { members } = config;
    const wished = wishes.active.filter((each) => each.identity === leaderId || isReached(each, wishes));
    if (wished.length > 0 && wished.map((each) => each.identity).toSorted().join() !== Object.keys(members).toSorted().join())
        return ${asMembers("wished.map(({ identity, endpoint, disk }) => ({ identity, endpoint, disk }))")};`,
      },
    ],
  },
  {
    name: "no-first-step",
    rule: "a winner leads once [term, 0] is stored by a majority",
    profile: "views",
    patches: [
      {
        file: "peers/protocol/term-state.ts",
        find: "this.#open = this.#step(config.members, 0, nowMs);",
        replace: "this.#open = null; this.#isLeading = true;",
      },
      {
        file: "peers/protocol/term-loop.ts",
        find: 'return this.end("expired"); this.#nextRound();',
        replace: 'return this.end("expired"); this.#nextRound(); this.#events.onLeading();',
      },
    ],
  },
  {
    name: "votes-store-configurations",
    rule: "a vote stores no configuration: [term, 0] is for winners",
    profile: "views",
    patches: [
      {
        file: "peers/protocol/candidacy.ts",
        find: "epoch: config.epoch",
        replace: "epoch: config.epoch, config",
      },
      {
        // What a vote has stored is not news to its candidate.
        file: "peers/protocol/candidacy-decision.ts",
        find: "newestOf(config, verdicts.map(({ state }) => state))",
        replace: "newestOf(config, verdicts.flatMap(({ granted, state }) => (granted ? [] : [state])))",
      },
      {
        file: "peers/protocol/voting.ts",
        find: 'return { kind: "grant", vote: voteFor(held, candidateId, candidateEndpoint, term, ttlMs) };',
        replace: `    const taken = { config: { ...request.config, epoch: { term, n: 0 } } };
    return { kind: "grant", vote: voteFor(held, candidateId, candidateEndpoint, term, ttlMs), ...taken };`,
      },
    ],
  },
  {
    name: "deadline-from-answer",
    rule: "a deadline counts from before the round was sent",
    profile: "duels",
    patches: [
      {
        file: "peers/protocol/term-loop.ts",
        find: "this.#led.extend({ sent, ttlMs })",
        replace: "this.#led.extend({ sent: sendMoment(clock), ttlMs })",
      },
    ],
  },
  {
    // A candidate that asks first would not show it, so the question is left out too. That alone breaks nothing, see
    // below.
    name: "live-leases-ignored",
    rule: "no node is granted what another node's live lease holds",
    profile: "usual",
    patches: [
      ...NO_QUESTION,
      {
        file: "peers/protocol/voting.ts",
        find: "if (isHeldByAnother(held, candidateId, time))",
        replace: "if (false)",
      },
    ],
  },
  {
    name: "release-of-any-term",
    rule: "a release must match the term of the vote",
    profile: "late",
    patches: [
      {
        file: "peers/protocol/voting.ts",
        find: "return sameGrant(held, leaderId, term) !== null;",
        replace: "return held !== null && held.vote.holderId === leaderId;",
      },
    ],
  },
  {
    name: "any-disk",
    rule: "a voter is an identity with its disk",
    profile: "wipes",
    patches: [
      {
        file: "peers/protocol/configuration.ts",
        find: "return memberOf(config.members, identity)?.disk === disk;",
        replace: "return config.members[identity] !== undefined;",
      },
      {
        file: "peers/protocol/configuration.ts",
        find: "return memberOf(members, state.identity)?.disk === state.disk;",
        replace: "return members[state.identity] !== undefined;",
      },
      {
        file: "peers/protocol/term-state.ts",
        find: "round.granted.get(identity)?.disk === memberOf(members, identity)?.disk",
        replace: "round.granted.has(identity)",
      },
    ],
  },
  {
    name: "anybody-founds",
    rule: "only the founder whom all name creates",
    profile: "lists",
    patches: [
      { file: "peers/protocol/bootstrap.ts", find: "if (founder !== own.endpoint)", replace: "if (false)" },
      { file: "peers/protocol/bootstrap.ts", find: "if (strangers.length > 0)", replace: "if (false)" },
    ],
  },
  {
    name: "next-step-unearned",
    rule: "the next step waits until the new members have moved the deadline",
    patches: [
      {
        file: "peers/protocol/term-state.ts",
        find: "if (!this.#isEarned) {",
        replace: "if (false) {",
      },
    ],
  },
  {
    name: "expiry-by-announcements",
    rule: "an elector that grants rounds is not removed for silence",
    profile: "oneway",
    patches: [
      {
        file: "peers/protocol/electorate.ts",
        find: "!active.has(identity) && !wishes.heard.has(identity)",
        replace: "!active.has(identity)",
      },
    ],
  },
  {
    name: "absurd-terms",
    rule: "no vote for a term that no election can have led to",
    profile: "absurd",
    patches: [
      {
        file: "peers/protocol/voting.ts",
        find: "if (term > (held?.vote.term ?? 0) + MAX_TERM_JUMP)",
        replace: "if (false)",
      },
    ],
  },
  {
    name: "absurd-answers",
    rule: "an answer with an absurd term or electorate is no answer",
    profile: "absurd",
    patches: [
      {
        file: "peers/protocol/checked-transport.ts",
        find: "if (shown <= term() + MAX_TERM_JUMP)",
        replace: "if (true)",
      },
    ],
  },
  {
    name: "long-leases",
    rule: "no vote for a longer lease than the voter's own",
    profile: "absurd",
    patches: [{ file: "peers/protocol/voting.ts", find: "ttlMs > ownTtlMs", replace: "false" }],
  },
  {
    name: "votes-for-strangers",
    rule: "no vote for a candidate that the electorate does not name",
    profile: "absurd",
    patches: [
      {
        file: "peers/protocol/voting.ts",
        find: "return compareEpochs(epoch, config.epoch) <= 0;",
        replace: "return false;",
      },
    ],
  },
  {
    name: "electorates-of-later-terms",
    rule: "no electorate of a later term than that of its leader is stored",
    profile: "absurd",
    patches: [{ file: "peers/protocol/voting.ts", find: "if (epoch.term > term)", replace: "if (false)" }],
  },
  {
    name: "any-lease-stops",
    rule: "a candidate stands where a majority could grant, whatever one voter shows",
    profile: "absurd",
    breaks: "liveness",
    patches: [
      {
        file: "peers/protocol/candidacy-decision.ts",
        find: "answered.has(identity) && !isBound.has(identity)",
        replace: "answered.has(identity) && !all.some((state) => isLedByAnother(state, own.identity))",
      },
    ],
  },
  {
    name: "candidates-observed",
    rule: "only who was seen to renew is taken for the leader",
    profile: "duels",
    patches: [
      {
        file: "peers/protocol/observations.ts",
        find: "isOfCluster(state, cluster) && state.lease?.led === true",
        replace: "isOfCluster(state, cluster)",
      },
    ],
  },
  {
    name: "founds-at-once",
    rule: "a founder listens for an older cluster before it founds one",
    patches: [{ file: "peers/protocol/bootstrap.ts", find: "if (!hasListened)", replace: "if (false)" }],
  },
];
