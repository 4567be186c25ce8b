import { electorConformance } from "@tenure/core/conformance";
import { expect, test } from "vitest";
import { ManyGroups } from "./many-groups.test-kit.js";

const NODES = "its nodes are not peers, and no peer campaigns for another";
const METADATA = "peers pass no metadata on";
const RENEWS = "a peer renews by itself: its lease does not run out because a caller is silent";
const TTL = "the ttl is that of the peers, not a policy of the group";

/** Laws that do not hold over peers, each with its reason. All others must. */
const NOT_HERE: Readonly<Record<string, string>> = {
  "a campaign wins a vacancy with term 1, and each later win has a higher term": NODES,
  "exactly one of many simultaneous campaigns wins": NODES,
  "a leader that campaigns again with the same instance keeps its term, at any server": METADATA,
  "a lost campaign returns the leader and when to try again": METADATA,
  "a renewal keeps the term and the leadership": METADATA,
  "renewals of several groups are answered in the order of the list, each independently": NODES,
  "a read shows every change acknowledged before it, at any server": METADATA,
  "expiresAtMs of the leader moves later with a renewal": TTL,
  "a leader that stops renewing is replaced soon after its ttl, and never before": RENEWS,
  "neither a renewal nor a confirmation shortens a lease": RENEWS,
  "an expired lease ends its term as expired and can no longer be resigned": RENEWS,
  "a waiting campaign wins when the leader resigns, and its answer says how long it waited": NODES,
  "the end of a lease and the next leader come from one write, so no reader sees a vacancy":
    "between two leaders there is an election",
  "waiting campaigns at one server win in the order of their arrival": NODES,
  "a vacancy goes to a ready candidate before a cold one that came first": NODES,
  "the first item of a watch is the current state": NODES,
  "every server shows every change in order, with consecutive cursors": NODES,
  "a watch from a cursor misses nothing and repeats nothing, at any server": NODES,
  "a cursor older than the last 64 events gets one RESYNC with the current state": NODES,
  "watches of different groups do not mix": NODES,
  "every group id and node id that the contract allows is accepted": NODES,
  "a ttl outside the policy is refused with the bounds, and nothing is written": TTL,
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

test("every exception of the peers names a law of the elector suite", () => {
  expect(laws).toEqual(expect.arrayContaining(Object.keys(NOT_HERE)));
});
