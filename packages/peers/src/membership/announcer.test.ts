import { MemoryStore } from "@tenure/core";
import { VirtualClock } from "@tenure/core/testing";
import { beforeEach, describe, expect, it } from "vitest";
import { OwnRecords } from "../disk/own-records.js";
import type { Configuration } from "../protocol/messages.js";
import { Announcer, type AnnouncerCalls } from "./announcer.js";
import { Membership } from "./membership.js";

const SELF = { identity: "self", endpoint: "https://self:1", disk: "disk" };
const url = (name: string): string => `https://${name}:1`;

describe("Announcer", () => {
  let clock: VirtualClock;
  let records: OwnRecords;
  let membership: Membership;
  let told: string[];
  let answers: Map<string, readonly string[]>;
  let silent: Set<string>;
  let electorate: Configuration | null;
  let leader: string | null;
  let calls: { -readonly [Verb in keyof AnnouncerCalls]: AnnouncerCalls[Verb] };
  let announcer: Announcer;
  beforeEach(async () => {
    clock = new VirtualClock();
    records = await OwnRecords.open(new MemoryStore());
    membership = new Membership({ self: "self", ttlMs: 3000, clock, records });
    told = [];
    answers = new Map();
    silent = new Set();
    electorate = null;
    leader = null;
    const call = (what: string, to: string): void => {
      told.push(`${what} ${to}`);
      if (silent.has(to)) throw new Error("no answer");
    };
    calls = {
      announce: async (to) => {
        call("announce", to);
        return answers.get(to) ?? [];
      },
      leave: async (to) => call("leave", to),
      reach: async (to) => call("reach", to),
    };
    announcer = new Announcer({
      self: SELF,
      join: [SELF.endpoint, url("seed")],
      intervalMs: 1000,
      clock,
      membership,
      electorate: () => electorate,
      leader: () => leader,
      onFailure: () => {},
      calls,
    });
  });
  const other = (name: string) => membership.announce({ identity: name, endpoint: url(name), disk: name });

  it("an announcer contacts the join targets only while it knows no other server, and then the servers they name", async () => {
    answers.set(url("seed"), [url("b"), SELF.endpoint]);
    expect((await announcer.announce()).reached).toEqual([url("seed")]);
    expect(membership.endpoints()).toEqual([SELF.endpoint]);
    await other("a");
    told.length = 0;
    await announcer.announce();
    expect(told.toSorted()).toEqual([`announce ${url("a")}`, `announce ${url("b")}`]);
  });

  it("an announcer contacts the join targets at its start even if it knows others, because one of them must admit it", async () => {
    await other("a");
    const { reached } = await announcer.announce({ isStart: true });
    expect(reached.toSorted()).toEqual([url("a"), url("seed")]);
  });

  it("an announcer also contacts the electorate, so that parts that have expired each other reunite", async () => {
    electorate = {
      cluster: "c",
      epoch: { term: 0, n: 0 },
      members: { e: { endpoint: url("e"), disk: "e" } },
    };
    await other("a");
    await announcer.announce();
    expect(told).toContain(`announce ${url("e")}`);
  });

  it("an announcer drops members that are long gone, but no elector", async () => {
    electorate = {
      cluster: "c",
      epoch: { term: 0, n: 0 },
      members: { e: { endpoint: url("e"), disk: "e" } },
    };
    await other("a");
    await membership.leave("e");
    await clock.advance(6000);
    await announcer.announce();
    await other("b");
    const kept = [...records.under("members/")].map(([identity]) => identity);
    expect(kept.toSorted()).toEqual(["b", "e", "self"]);
  });

  it("an announcer repeats its announcements, and stops while this server is leaving", async () => {
    await other("a");
    announcer.start();
    await clock.advance(2500);
    expect(told.length).toBe(3);
    membership.leaving = true;
    await clock.advance(5000);
    expect(told.length).toBe(3);
    await announcer.stop();
  });

  it("a leave that one member does not confirm is undone everywhere, and the server is a member again", async () => {
    await other("a");
    await other("b");
    await announcer.announce();
    silent.add(url("b"));
    const { failed } = await announcer.leave({ anyway: false });
    expect(failed.map(({ endpoint }) => endpoint)).toEqual([url("b")]);
    expect([membership.leaving, membership.left()]).toEqual([false, []]);
    expect(told.slice(-2).toSorted()).toEqual([`announce ${url("a")}`, `announce ${url("b")}`]);
    silent.clear();
    expect((await announcer.leave({ anyway: false })).failed).toEqual([]);
    expect([membership.leaving, membership.left()]).toEqual([true, ["self"]]);
  });

  it("a server does not count as leaving while its leave may still be refused, so a leader keeps leading", async () => {
    await other("a");
    await announcer.announce();
    const seen: boolean[] = [];
    membership.leave = async () => void seen.push(membership.leaving);
    let confirm = (): void => {};
    calls.leave = () =>
      new Promise((resolve) => {
        seen.push(membership.leaving);
        confirm = resolve;
      });
    const left = announcer.leave({ anyway: false });
    await clock.advance(1);
    // It does not announce itself meanwhile either: the announcement would arrive after the leave.
    told.length = 0;
    announcer.start();
    await clock.advance(500);
    expect([membership.leaving, told]).toEqual([false, []]);
    confirm();
    await left;
    expect([membership.leaving, seen]).toEqual([true, [false, true]]);
    await announcer.stop();
  });

  it("a leave reaches the leader last, so that a refused leave never changes the electorate", async () => {
    for (const name of ["a", "b", "c"]) await other(name);
    let isRefused = true;
    leader = url("b");
    await announcer.announce();
    told.length = 0;
    calls.leave = async (to) => {
      told.push(`leave ${to}`);
      if (to === url("c") && isRefused) throw new Error("lost");
    };
    await announcer.leave({ anyway: false });
    expect(told.filter((each) => each.startsWith("leave")).toSorted()).toEqual([
      `leave ${url("a")}`,
      `leave ${url("c")}`,
    ]);
    isRefused = false;
    told.length = 0;
    expect((await announcer.leave({ anyway: false })).failed).toEqual([]);
    expect(told.at(-1)).toBe(`leave ${url("b")}`);
  });

  it("a leave is sent to no member if one member does not answer", async () => {
    for (const name of ["a", "b"]) await other(name);
    await announcer.announce();
    told.length = 0;
    silent.add(url("b"));
    const { failed } = await announcer.leave({ anyway: false });
    expect(failed.map(({ endpoint }) => endpoint)).toEqual([url("b")]);
    expect(told.filter((each) => each.startsWith("leave"))).toEqual([]);
  });

  it("a stop during a leave that is about to be refused still leaves", async () => {
    await other("a");
    await announcer.announce();
    silent.add(url("a"));
    const refused = announcer.leave({ anyway: false });
    const stopped = announcer.leave({ anyway: true });
    expect((await refused).failed).toHaveLength(1);
    await stopped;
    expect([membership.leaving, membership.left()]).toEqual([true, ["self"]]);
  });

  it("a server stays a member if its own disk cannot store that it left", async () => {
    await other("a");
    await announcer.announce();
    membership.leave = () => Promise.reject(new Error("no space left"));
    await expect(announcer.leave({ anyway: false })).rejects.toThrow("no space left");
    expect(membership.leaving).toBe(false);
    expect(told.at(-1)).toBe(`announce ${url("a")}`);
  });

  it("a stopping server repeats its leave to members that did not confirm, until they do", async () => {
    await other("a");
    await other("b");
    announcer.start();
    await clock.advance(10);
    silent.add(url("a"));
    await announcer.leave({ anyway: true });
    told.length = 0;
    await clock.advance(2000);
    expect(told).toEqual([`leave ${url("a")}`, `leave ${url("a")}`]);
    silent.clear();
    await clock.advance(5000);
    expect(told).toHaveLength(3);
    await announcer.stop();
  });

  it("a leave is repeated to an elector that missed it and was not a member, because it may be the next leader", async () => {
    const members = { e: { endpoint: url("e"), disk: "e" } };
    electorate = { cluster: "c", epoch: { term: 0, n: 0 }, members };
    silent.add(url("e"));
    await announcer.announce();
    // Only an active member can keep this server from leaving.
    expect((await announcer.leave({ anyway: false })).failed).toEqual([]);
    told.length = 0;
    announcer.start();
    await clock.advance(1500);
    silent.clear();
    await clock.advance(5000);
    expect(told).toEqual([`leave ${url("e")}`, `leave ${url("e")}`, `leave ${url("e")}`]);
    await announcer.stop();
  });

  it("a stopping server leaves even if a member does not confirm", async () => {
    await other("a");
    await announcer.announce();
    silent.add(url("a"));
    await announcer.leave({ anyway: true });
    expect(membership.left()).toEqual(["self"]);
  });
});
