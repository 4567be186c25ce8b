import { MemoryStore } from "@tenure/core";
import { VirtualClock } from "@tenure/core/testing";
import { beforeEach, describe, expect, it } from "vitest";
import { OwnRecords } from "../disk/own-records.js";
import type { Configuration } from "../protocol/messages.js";
import { Announcer } from "./announcer.js";
import { Membership } from "./membership.js";

const SELF = { identity: "self", endpoint: "https://self:1", disk: "disk" };
const url = (name: string): string => `https://${name}:1`;

describe("an announcer", () => {
  let clock: VirtualClock;
  let membership: Membership;
  let told: string[];
  let answers: Map<string, readonly string[]>;
  let silent: Set<string>;
  let electorate: Configuration | null;
  let announcer: Announcer;
  beforeEach(async () => {
    clock = new VirtualClock();
    membership = new Membership({
      self: "self",
      ttlMs: 3000,
      clock,
      records: await OwnRecords.open(new MemoryStore()),
    });
    told = [];
    answers = new Map();
    silent = new Set();
    electorate = null;
    const call = (what: string, to: string): void => {
      told.push(`${what} ${to}`);
      if (silent.has(to)) throw new Error("no answer");
    };
    announcer = new Announcer({
      self: SELF,
      join: [SELF.endpoint, url("seed")],
      intervalMs: 1000,
      clock,
      membership,
      electorate: () => electorate,
      onFailure: () => {},
      calls: {
        announce: async (to) => {
          call("announce", to);
          return answers.get(to) ?? [];
        },
        leave: async (to) => call("leave", to),
      },
    });
  });
  const other = (name: string) => membership.announce({ identity: name, endpoint: url(name), disk: name });

  it("tells the join targets only while it knows nobody else, and then whoever they name", async () => {
    answers.set(url("seed"), [url("b"), SELF.endpoint]);
    expect((await announcer.announce()).reached).toEqual([url("seed")]);
    expect(membership.endpoints()).toEqual([SELF.endpoint]);
    await other("a");
    told.length = 0;
    await announcer.announce();
    expect(told.toSorted()).toEqual([`announce ${url("a")}`, `announce ${url("b")}`]);
  });

  it("tells the join targets at its start whomever it knows: one of them must take it in", async () => {
    await other("a");
    const { reached } = await announcer.announce({ isStart: true });
    expect(reached.toSorted()).toEqual([url("a"), url("seed")]);
  });

  it("tells the electorate too, so that parts that have expired each other find together again", async () => {
    electorate = {
      cluster: "c",
      epoch: { term: 0, n: 0 },
      members: { e: { endpoint: url("e"), disk: "e" } },
    };
    await other("a");
    await announcer.announce();
    expect(told).toContain(`announce ${url("e")}`);
  });

  it("goes on by itself, and stops while this server is leaving", async () => {
    await other("a");
    announcer.start();
    await clock.advance(2500);
    expect(told.length).toBe(3);
    membership.leaving = true;
    await clock.advance(5000);
    expect(told.length).toBe(3);
    await announcer.stop();
  });

  it("leaves everybody or nobody: one that does not confirm, and it is a member again", async () => {
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

  it("stays a member if its own disk cannot keep that it left", async () => {
    await other("a");
    await announcer.announce();
    membership.leave = () => Promise.reject(new Error("no space left"));
    await expect(announcer.leave({ anyway: false })).rejects.toThrow("no space left");
    expect(membership.leaving).toBe(false);
    expect(told.at(-1)).toBe(`announce ${url("a")}`);
  });

  it("leaves at its end even if somebody does not confirm", async () => {
    await other("a");
    await announcer.announce();
    silent.add(url("a"));
    await announcer.leave({ anyway: true });
    expect(membership.left()).toEqual(["self"]);
  });
});
