import {
  BackendUnavailableError,
  MemoryStore,
  StoreElector,
  systemClock,
  type WatchEvent,
  type WatchOptions,
} from "@tenure/core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { command } from "../frame/command.test-kit.js";
import { Shell } from "../frame/shell.js";
import { Scratch } from "../scratch.test-kit.js";
import { watchEvents } from "./watch-command.js";

/** A store's watch may end at any event because the store is gone; this one does after each event. */
function breakingElector(elector: StoreElector): StoreElector {
  return new Proxy(elector, {
    get: (target, name) => {
      if (name === "watch")
        return (groupId: string, options: WatchOptions) => breaking(target.watch(groupId, options));
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}

async function* breaking(events: AsyncIterable<WatchEvent>): AsyncGenerator<WatchEvent, undefined> {
  for await (const event of events) {
    yield event;
    throw new BackendUnavailableError("the store is gone");
  }
}

it("a watch that breaks off resumes after the last event, which is not shown twice", async () => {
  const store = new MemoryStore();
  await using elector = StoreElector.open({ store });
  for (const nodeId of ["a", "b", "c"]) {
    const result = await elector.campaign({ groupId: "g", nodeId, ttlMs: 60_000 });
    if (result.kind === "elected") await elector.resign({ groupId: "g", nodeId, term: result.leader.term });
  }
  let stdout = "";
  let stderr = "";
  const shell = new Shell({
    out: { write: (text) => (stdout += text) },
    err: { write: (text) => (stderr += text) },
    env: {},
    signal: new AbortController().signal,
    // It waits before it retries; here no longer than necessary.
    clock: { ...systemClock, after: (_, callback) => systemClock.after(0, callback) },
  });
  expect(await watchEvents(shell, breakingElector(elector), "g", { cursor: 0, count: 6 })).toBe(0);
  expect(stdout.match(/(?:elected|lost) +[abc]/g)?.map((text) => text.replace(/ +/, " "))).toEqual([
    "elected a",
    "lost a",
    "elected b",
    "lost b",
    "elected c",
    "lost c",
  ]);
  expect(stderr.match(/the store is gone; retrying from the last event\n/g)).toHaveLength(5);
});

describe("watch over a server", () => {
  const scratch = new Scratch();
  let where: string[];
  const tenure = (...args: readonly string[]) => command([...args, ...where]);
  beforeAll(async () => {
    const server = await scratch.memoryServer();
    where = ["--server", server.url];
    for (const group of ["eu/b", "eu/a", "us/c"])
      await tenure("campaign", group, "--node-id", "n", "--ttl", "60s");
    await tenure("groups", "create", "eu/idle");
  });
  afterAll(() => scratch.close());

  /** Runs the watch until it has printed the text, with an act once the state is there. */
  async function watched(args: readonly string[], act: () => Promise<unknown>): Promise<string> {
    let hasActed = false;
    const watching = command(["watch", ...args, ...where], {
      onOutput: () => {
        if (hasActed) return;
        hasActed = true;
        void act();
      },
    });
    return (await watching).stdout;
  }

  it("watch prints the state in order of id, apart from the events, and counts only events", async () => {
    const resign = (): Promise<unknown> => tenure("resign", "eu/a", "--node-id", "n", "--term", "1");
    const stdout = await watched(["--prefix", "eu/", "--count", "1"], resign);
    const lines = stdout.trimEnd().split("\n");
    expect(lines[0]).toBe("CURRENT STATE");
    expect(lines.slice(2, 5).map((line) => line.split(/ +/).slice(0, 2).join(" "))).toEqual([
      "eu/a led",
      "eu/b led",
      "eu/idle never",
    ]);
    expect(lines.slice(5, 7)).toEqual(["", "EVENTS"]);
    expect(lines[7]).toMatch(/^TIME +GROUP +EVENT +NODE +TERM +REASON$/);
    expect(lines[8]).toMatch(/^\S+ \S+ +eu\/a +lost +n +1 +resigned$/);
    expect(lines).toHaveLength(9);
    // The columns of the heading and of the event begin at the same places.
    for (const title of ["GROUP", "EVENT", "NODE", "TERM", "REASON"]) {
      const at = lines[7]?.indexOf(title) ?? 0;
      expect(lines[8]?.slice(at - 1, at + 1)).toMatch(/^ \S$/);
    }
  });

  it("watch --since begins with stored events, and --json marks the current state", async () => {
    await tenure("campaign", "eu/a", "--node-id", "m", "--ttl", "60s");
    const stdout = (await tenure("watch", "eu/a", "--since", "1h", "--count", "3")).stdout;
    expect(stdout).not.toContain("CURRENT STATE");
    expect(stdout.match(/(?:elected|lost) +\S+ +\d/g)?.map((text) => text.replaceAll(/ +/g, " "))).toEqual([
      "elected n 1",
      "lost n 1",
      "elected m 2",
    ]);
    const resign = (): Promise<unknown> => tenure("resign", "eu/b", "--node-id", "n", "--term", "1");
    const asJson = await watched(["eu/b", "--json", "--count", "1"], resign);
    expect(
      asJson
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line) as object),
    ).toMatchObject([
      { type: "LEADER_CHANGED", current: true },
      { type: "LEADER_LOST", cursor: "2" },
    ]);
  });
});
