import { MemoryStore } from "@tenure/core";
import { VirtualClock } from "@tenure/core/testing";
import { beforeEach, describe, expect, it } from "vitest";
import { OwnRecords } from "../disk/own-records.js";
import { Membership } from "./membership.js";

const TTL_MS = 3000;

describe("Membership", () => {
  let clock: VirtualClock;
  let store: MemoryStore;
  let membership: Membership;
  const open = async (): Promise<Membership> =>
    new Membership({ self: "self", ttlMs: TTL_MS, clock, records: await OwnRecords.open(store) });
  beforeEach(async () => {
    clock = new VirtualClock();
    store = new MemoryStore();
    membership = await open();
  });

  const member = (identity: string, endpoint = `https://${identity}:1`) => ({
    identity,
    endpoint,
    disk: `disk-${identity}`,
  });

  it("the membership lists the announced servers, sorted, each endpoint once", async () => {
    await membership.announce(member("b"));
    const lease = await membership.announce(member("a"));
    await membership.announce(member("twin", "https://a:1"));
    expect(membership.endpoints()).toEqual(["https://a:1", "https://b:1"]);
    expect(membership.active()).toHaveLength(3);
    expect(lease.expiresAtUnix - lease.updatedAtUnix).toBe(TTL_MS / 1000);
  });

  it("the membership drops a silent server when its lease is over, and not before", async () => {
    await membership.announce(member("a"));
    await clock.advance(TTL_MS - 1);
    expect(membership.endpoints()).toEqual(["https://a:1"]);
    await clock.advance(1);
    expect(membership.endpoints()).toEqual([]);
    expect(membership.left()).toEqual([]);
    await membership.announce(member("a"));
    expect(membership.endpoints()).toEqual(["https://a:1"]);
  });

  it("an identity has one endpoint only: a new endpoint replaces the old one", async () => {
    await membership.announce(member("a"));
    await membership.announce(member("a", "https://moved:1"));
    expect(membership.endpoints()).toEqual(["https://moved:1"]);
  });

  it("a server is removed only by its own leave, which is remembered until it announces itself again", async () => {
    await membership.announce(member("a"));
    await membership.announce(member("b"));
    await membership.leave("a");
    expect([membership.endpoints(), membership.left()]).toEqual([["https://b:1"], ["a"]]);
    await membership.announce(member("a"));
    expect(membership.left()).toEqual([]);
  });

  it("the leave of an unknown server is remembered too", async () => {
    await membership.leave("elector");
    expect([membership.endpoints(), membership.left()]).toEqual([[], ["elector"]]);
    expect((await open()).left()).toEqual(["elector"]);
  });

  it("the membership survives a restart, counted from the start; the server itself must announce again", async () => {
    await membership.announce(member("a"));
    await membership.announce(member("b"));
    await membership.announce(member("self"));
    await membership.leave("b");
    await clock.advance(1000);
    const again = await open();
    expect([again.endpoints(), again.left()]).toEqual([["https://a:1"], ["b"]]);
    await clock.advance(TTL_MS - 1);
    expect(again.endpoints()).toEqual(["https://a:1"]);
    await clock.advance(1);
    expect(again.endpoints()).toEqual([]);
  });

  it("a server that is long gone is dropped, also from disk, unless it is an elector", async () => {
    for (const name of ["a", "gone", "elector"]) await membership.announce(member(name));
    await membership.leave("gone");
    await membership.leave("elector");
    const records = await OwnRecords.open(store);
    const kept = (): readonly string[] => [...records.under("members/")].map(([identity]) => identity);
    const here = new Membership({ self: "self", ttlMs: TTL_MS, clock, records });
    await clock.advance(2 * TTL_MS - 1);
    await here.prune(new Set(["elector"]));
    expect(kept().toSorted()).toEqual(["a", "elector", "gone"]);
    await clock.advance(1);
    await here.prune(new Set(["elector"]));
    expect(kept()).toEqual(["elector"]);
    expect(here.left()).toEqual(["elector"]);
    await here.announce(member("a"));
    expect(here.endpoints()).toEqual(["https://a:1"]);
  });

  it("an identity announced by two disks in turn is contested, until one of them has been silent", async () => {
    const over = (disk: string) => membership.announce({ ...member("a"), disk });
    const isContested = (): boolean => membership.active().some((each) => each.contested === true);
    await over("first");
    await clock.advance(1000);
    await over("second");
    // A lost disk: the server has come back with another one.
    expect(isContested()).toBe(false);
    await clock.advance(1000);
    await over("first");
    expect(isContested()).toBe(true);
    await clock.advance(1000);
    await over("second");
    expect(isContested()).toBe(true);
    for (let i = 0; i < 3; i++) {
      await clock.advance(1000);
      await over("second");
    }
    expect(isContested()).toBe(false);
  });

  it("the membership depends on no wall clock, neither across a restart nor in between", async () => {
    await membership.announce(member("a"));
    const records = await OwnRecords.open(store);
    const ahead = clock.process({ wallOffsetMs: 1e9 });
    const again = new Membership({ self: "self", ttlMs: TTL_MS, clock: ahead, records });
    expect(again.endpoints()).toEqual(["https://a:1"]);
  });

  it("a member that fell silent because its machine was suspended is not kept", async () => {
    const suspended = clock.process();
    const records = await OwnRecords.open(store);
    const here = new Membership({ self: "self", ttlMs: TTL_MS, clock: suspended, records });
    await here.announce(member("a"));
    suspended.suspend();
    await clock.advance(TTL_MS);
    suspended.resume();
    expect(here.endpoints()).toEqual([]);
  });
});
