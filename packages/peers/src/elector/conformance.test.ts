import { electorConformance } from "@tenure/core/conformance";
import { expect, test } from "vitest";
import { ManyGroups } from "./many-groups.test-kit.js";

const NODES = "its nodes are none of the peers, and no peer campaigns for another";
const METADATA = "peers pass no metadata on";
const RENEWS = "a peer renews by itself: its lease does not run out because a caller is silent";
const TTL = "the ttl is that of the peers, not a policy of the group";

/** Laws that do not hold over peers, each with its reason. All others must. */
const NOT_HERE: Readonly<Record<string, string>> = {
  "a campaign wins a vacancy with term 1, and every later one a higher term": NODES,
  "of many nodes that campaign at once, one wins": NODES,
  "the same instance that asks again keeps its term, at any server": METADATA,
  "a lost campaign is answered with the leader and when to try again": METADATA,
  "a renewal keeps the term, and with it the leadership": METADATA,
  "renewals of several groups are answered in their place, each on its own": NODES,
  "a read is as new as every change acknowledged before it, at any server": METADATA,
  "the answer shows the end of a lease on the wall clock, for people": TTL,
  "a leader that stops renewing is replaced, never before its ttl and soon after": RENEWS,
  "nothing shortens a lease: not a renewal, not a confirmation": RENEWS,
  "an expired lease ends its term as expired and can no longer be resigned": RENEWS,
  "a waiting campaign is granted when the leader resigns, and the answer says how long it waited": NODES,
  "the end of a lease and the next leader come from one write, so watchers see no vacancy":
    "between two leaders there is an election",
  "waiting campaigns of one server are granted in the order of their arrival": NODES,
  "a vacancy goes to a ready candidate before a cold one that came first": NODES,
  "the first item of a watch is the current state": NODES,
  "every server shows the changes one after the other, with consecutive cursors": NODES,
  "a watch from a cursor misses nothing and repeats nothing, at any server": NODES,
  "past the last 64 events there is one RESYNC with the current state": NODES,
  "watches of different groups do not mix": NODES,
  "every id that the contract admits is admitted": NODES,
  "a ttl outside the policy is refused with its bounds, and nothing is written": TTL,
};

const laws: string[] = [];

electorConformance({
  test: (name, run) => {
    laws.push(name);
    const register = Object.hasOwn(NOT_HERE, name) ? () => {} : test;
    register(name, run);
  },
  open: async () => {
    const elector = new ManyGroups();
    return { elector, dispose: () => elector.stop() };
  },
});

test("every exception names a law", () => {
  expect(laws).toEqual(expect.arrayContaining(Object.keys(NOT_HERE)));
});
