/** Each rule of the peers, switched off in the built code. Files are those of packages/peers/dist/protocol. */
import type { Mutant, Patch } from "../mutants/mutant.js";

/** Those whom a node takes for active instead of the electorate; `active` is a list of members. */
const asMembers = (active: string): string =>
  `Object.fromEntries(${active}.map((each) => [each.identity, each]))`;

/** Candidates do not care whether somebody leads. */
const NO_QUESTION: readonly Patch[] = [
  {
    file: "peer-loop.js",
    find: "if (lease !== null && lease.leaderId !== identity)",
    replace: "if (false)",
  },
  { file: "standing.js", find: "if (isLedByAnother(own, own.identity))", replace: "if (false)" },
  { file: "standing.js", find: "answered.has(identity) && !isBound.has(identity)", replace: "true" },
];

export const PEER_MUTANTS: readonly Mutant[] = [
  {
    name: "forgotten-votes",
    rule: "votes are durable",
    profile: "views",
    patches: [{ file: "voter.js", find: "(isKnown ? {} : { vote })", replace: "{}" }],
  },
  {
    name: "no-wait-after-restart",
    rule: "after a restart ttl and margin pass before another is granted",
    profile: "usual",
    patches: [
      {
        file: "voter.js",
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
        file: "candidacy.js",
        find: "    const sent = sendMoment(clock);",
        replace: `    const sent = sendMoment(clock);
    const named = config;
    config = { ...config, members: ${asMembers("context.membership.active()")} };`,
      },
      {
        file: "candidacy.js",
        find: "    return conclude(context, tally, config, term, sent);",
        replace: "    return conclude(context, tally, named, term, sent);",
      },
      {
        file: "standing.js",
        find: "if (!isMajority(newest.members, (identity) => answered.has(identity)))",
        replace: "if (answered.size === 0)",
      },
      {
        file: "incumbency.js",
        find: "        const nowMs = sent.monotonicMs;",
        replace: `        const nowMs = sent.monotonicMs;\n        this.active = ${asMembers("wishes.active")};`,
      },
      {
        file: "incumbency.js",
        find: "        const { members } = this.#config;",
        replace: "        const members = this.active;",
      },
      {
        file: "incumbency.js",
        find: "if (!isMajority(this.#config.members, hasStored))",
        replace: "if (!isMajority(this.active, hasStored))",
      },
      {
        file: "incumbency.js",
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
        file: "electorate.js",
        find: "    const { members } = config;",
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
        file: "incumbency.js",
        find: "        this.#open = this.#step(config.members, 0, nowMs);",
        replace: "        this.#open = null;\n        this.#isLeading = true;",
      },
      {
        file: "reign.js",
        find: '            return this.end("expired");\n        this.#nextRound();',
        replace:
          '            return this.end("expired");\n        this.#nextRound();\n        this.#events.onLeading();',
      },
    ],
  },
  {
    name: "votes-store-configurations",
    rule: "a vote stores no configuration: [term, 0] is for winners",
    profile: "views",
    patches: [
      {
        file: "candidacy.js",
        find: "        epoch: config.epoch,",
        replace: "        epoch: config.epoch,\n        config,",
      },
      {
        // What a vote has stored is not news to its candidate.
        file: "standing.js",
        find: "newestOf(config, verdicts.map(({ state }) => state))",
        replace: "newestOf(config, verdicts.flatMap(({ granted, state }) => (granted ? [] : [state])))",
      },
      {
        file: "voting.js",
        find: '    return { kind: "grant", vote: voteFor(held, candidateId, candidateEndpoint, term, ttlMs) };',
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
        file: "reign.js",
        find: "this.#led.extend({ sent, ttlMs })",
        replace: "this.#led.extend({ sent: sendMoment(clock), ttlMs })",
      },
    ],
  },
  {
    // Who asks first would not find it out: the question is left out too. That alone breaks nothing, see below.
    name: "live-leases-ignored",
    rule: "nobody is granted what another's live lease holds",
    profile: "usual",
    patches: [
      ...NO_QUESTION,
      { file: "voting.js", find: "if (isHeldByAnother(held, candidateId, time))", replace: "if (false)" },
    ],
  },
  {
    name: "release-of-any-term",
    rule: "a release must match the term of the vote",
    profile: "late",
    patches: [
      {
        file: "voting.js",
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
        file: "configuration.js",
        find: "return memberOf(config.members, identity)?.disk === disk;",
        replace: "return config.members[identity] !== undefined;",
      },
      {
        file: "configuration.js",
        find: "return memberOf(members, state.identity)?.disk === state.disk;",
        replace: "return members[state.identity] !== undefined;",
      },
      {
        file: "incumbency.js",
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
      { file: "founding.js", find: "if (founder !== own.endpoint)", replace: "if (false)" },
      { file: "founding.js", find: "if (strangers.length > 0)", replace: "if (false)" },
    ],
  },
  {
    name: "next-step-unearned",
    rule: "the next step waits until the new members have moved the deadline",
    patches: [
      {
        file: "incumbency.js",
        find: "if (!this.#isEarned) {",
        replace: "if (false) {",
      },
    ],
  },
];

/** Rules whose absence costs no safety: what they hide from the schedules must hold without them. */
export const HARMLESS_MUTANTS: readonly Mutant[] = [
  {
    name: "no-question",
    rule: "a candidate stands back where somebody leads",
    profile: "usual",
    patches: NO_QUESTION,
  },
];

export function peerMutantNamed(name: string): Mutant {
  const mutant = [...PEER_MUTANTS, ...HARMLESS_MUTANTS].find((each) => each.name === name);
  if (mutant === undefined) throw new Error(`no mutant ${name}; --list shows them`);
  return mutant;
}
