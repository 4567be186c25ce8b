import {
  BackendUnavailableError,
  MemoryStore,
  StoreElector,
  systemClock,
  type WatchEvent,
  type WatchOptions,
} from "@tenure/core";
import { expect, it } from "vitest";
import { Shell } from "../frame/shell.js";
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
  expect(stdout.match(/[abc] leads,|[abc] no longer leads/g)).toEqual([
    "a leads,",
    "a no longer leads",
    "b leads,",
    "b no longer leads",
    "c leads,",
    "c no longer leads",
  ]);
  expect(stderr.match(/the store is gone; retrying from the last event\n/g)).toHaveLength(5);
});
