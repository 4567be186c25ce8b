/** Well-formed messages that no honest server sends must stop neither a voter nor the cluster. */
import { afterEach, describe, expect, it } from "vitest";
import { Cluster, TTL_MS, without } from "./cluster.test-kit.js";
import type { PeerState } from "./messages.js";
import { MAX_TERM_JUMP } from "./voting.js";

let cluster = new Cluster();
afterEach(async () => {
  await cluster.stop();
  cluster = new Cluster();
});

/** In the gap after the leader's crash all voters are free. */
async function leaderless(): Promise<readonly string[]> {
  const leader = await cluster.elected("abc");
  cluster.crash(leader);
  const rest = Array.from(without("abc", leader));
  await cluster.until(() => rest.some((name) => cluster.get(name).peer.answers.state().lease === null));
  return rest;
}

function request(term: number, ttlMs: number = TTL_MS) {
  const { config } = cluster.get([...cluster.running.keys()][0] as string).peer.answers.state();
  if (config === null) throw new Error("no electorate");
  const { cluster: id, epoch } = config;
  return { candidateId: "x", candidateEndpoint: "x", term, ttlMs, cluster: id, epoch };
}

describe("a server that is not an elector", () => {
  it.each([
    ["the highest term there is", Number.MAX_SAFE_INTEGER, TTL_MS],
    ["a lease of a day", 7, 86_400_000],
    ["a plausible lease", 7, TTL_MS],
  ])(
    "a server that is not an elector gets no vote for %s, and a leader is elected after its request",
    async (_, term, ttlMs) => {
      const rest = await leaderless();
      for (const name of rest) {
        const { granted } = await cluster.get(name).peer.answers.acquire(request(term, ttlMs));
        expect(granted).toBe(false);
      }
      expect(rest).toContain(await cluster.untilLed());
      expect(cluster.get(cluster.leader() as string).peer.leading()?.term).toBeLessThan(100);
    },
  );
});

describe("an answer with an absurd term or electorate", () => {
  const lies: readonly [string, (state: PeerState) => PeerState][] = [
    ["term", (state) => ({ ...state, term: Number.MAX_SAFE_INTEGER })],
    [
      "electorate",
      (state) => ({
        ...state,
        config: {
          cluster: state.config?.cluster ?? "",
          epoch: { term: MAX_TERM_JUMP + 100, n: 0 },
          members: { x: { endpoint: "x", disk: "x" } },
        },
      }),
    ],
  ];

  it.each(lies)(
    "an answer with an absurd %s changes nothing at a leader, a candidate or a follower",
    async (_, lie) => {
      const leader = await cluster.elected("abcde");
      const [liar] = without("abcde", leader) as unknown as [string];
      const { answers } = cluster.get(liar).peer;
      const state = answers.state.bind(answers);
      answers.state = () => lie(state());
      await cluster.clock.advance(3 * TTL_MS);
      expect(cluster.leader()).toBe(leader);
      cluster.crash(leader);
      const rest = without(without("abcde", leader), liar);
      await cluster.until(() => rest.includes(cluster.leader() ?? "none"));
      for (const name of rest) {
        expect(cluster.get(name).peer.term).toBeLessThan(100);
        expect(cluster.electorate(name)).toContain(liar);
      }
    },
  );
});
