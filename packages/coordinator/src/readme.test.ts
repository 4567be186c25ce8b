import { once } from "node:events";
import { readFileSync } from "node:fs";
import { MemoryStore, StoreElector } from "@tenure/core";
import { VirtualClock } from "@tenure/core/testing";
import { describe, expect, test } from "vitest";
import { CoordinatorCandidate, type Dispatch, functionChild, Supervisor } from "./index.js";
import { COORDINATOR_EVENTS } from "./telemetry/telemetry.js";
import { answer, candidate, children, follow, log, polling } from "./readme.test-kit.js";

const page = read("../../../docs/COORDINATOR.md");

function read(file: string): string {
  return readFileSync(new URL(file, import.meta.url), "utf8");
}

describe("docs/COORDINATOR.md", () => {
  test("shows the very code that is tested here", () => {
    const examples = [...page.matchAll(/```ts\n((?:import .*\n)+)\n([\s\S]*?)```/g)];
    expect(examples).toHaveLength(5);
    for (const [, imports = "", code = ""] of examples) {
      expect(read("./readme.test-kit.ts")).toContain(code);
      const names = [...imports.matchAll(/[{,] (?:type )?(\w+)/g)].map(([, name = ""]) => name);
      expect(names.filter((name) => !new RegExp(`\\b${name}\\b`).test(code))).toEqual([]);
    }
  });

  test("names every option, event and variable", () => {
    const told = messageOf(() => new CoordinatorCandidate({ "?": 1 } as never));
    const options = told.replace(/^.* known are /, "").split(", ");
    const variables = read("./candidate/environment.ts").match(/\b(?:COORDINATOR|TENURE|CLUSTER)_[A-Z_]+\b/g);
    const names = [...options, ...COORDINATOR_EVENTS, ...new Set(variables)].filter(
      (name) => name !== "TENURE_CLUSTER_COORDINATOR",
    );
    expect(names.length).toBeGreaterThan(25);
    expect(names.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
  });

  test("a candidate runs its children while it coordinates, and tells", async () => {
    const store = new MemoryStore();
    const elector = StoreElector.open({ store, keepMembers: true });
    const lines: string[] = [];
    const end = log((line) => lines.push(line));
    const started = new EventTarget();
    const work = functionChild("work", async ({ signal }) => {
      started.dispatchEvent(new Event("started"));
      await once(signal, "abort");
    });
    const running = once(started, "started");
    const node = candidate(elector, "a", [work]);
    await node.start();
    await running;
    expect(node.running).toEqual(["work"]);
    await node.stop();
    end();
    expect(lines).toEqual(["a coordinates in term 1", "a does no more: stopped"]);
    await elector.close();
  });

  test("children are of four kinds, with names of their own", () => {
    const pool = { open: () => Promise.resolve(), close: () => Promise.resolve() };
    const specs = children(pool);
    expect(specs.map(({ id }) => id)).toEqual(["pool", "scheduler", "indexer", "announcer"]);
    expect(() => new Supervisor({ children: specs })).not.toThrow();
  });

  test("a poll is given to a healthy member at its interval, with the term", async () => {
    const clock = new VirtualClock();
    const elector = StoreElector.open({ store: new MemoryStore(), clock, keepMembers: true });
    await elector.createGroup({ groupId: "coordinator" });
    await elector.heartbeat({ groupId: "coordinator", nodeId: "m" });
    const sent: Omit<Dispatch, "signal">[] = [];
    const specs = polling(
      elector,
      async ({ poll, memberId, term }) => sent.push({ poll, memberId, term }),
      clock,
    );
    const stopping = new AbortController();
    const lease = { leftMs: () => Number.POSITIVE_INFINITY };
    const ended = new Supervisor({ children: specs, clock }).run(3, stopping.signal, lease);
    for (let seconds = 0; seconds < 70; seconds++) {
      await clock.advance(1000);
      await elector.heartbeat({ groupId: "coordinator", nodeId: "m" });
    }
    expect(sent).toEqual([{ poll: "disks", memberId: "m", term: 3 }]);
    stopping.abort();
    await clock.advance(1000);
    await ended;
    const closed = elector.close();
    await clock.advance(60_000);
    await closed;
    clock.stop();
  });

  test("a member refuses a coordinator that was replaced", () => {
    const run = (poll: string) => `${poll} are fine`;
    expect(answer("disks", 4, run)).toBe("disks are fine");
    expect(() => answer("disks", 3, run)).toThrow("term 4 has been here");
  });

  test("a member that follows the group's watch refuses a term that is over", async () => {
    const elector = StoreElector.open({ store: new MemoryStore() });
    const stopping = new AbortController();
    const followed = follow(elector, stopping.signal).catch(() => {});
    const node = { groupId: "coordinator", nodeId: "a" };
    for (let term = 1; term <= 5; term++) {
      await elector.campaign({ ...node, ttlMs: 5000 });
      await elector.resign({ ...node, term });
    }
    await elector.campaign({ ...node, ttlMs: 5000 });
    // One that began later has seen it; so have all, when this turn is over.
    for await (const { term } of elector.watch("coordinator")) if (term === 6) break;
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
    expect(() => answer("disks", 5, String)).toThrow("term 5 is over");
    expect(answer("disks", 6, String)).toBe("disks");
    stopping.abort();
    await followed;
    await elector.close();
  });
});

function messageOf(refused: () => unknown): string {
  try {
    refused();
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error("nothing was refused");
}
