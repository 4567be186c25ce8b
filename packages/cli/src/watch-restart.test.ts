/** Watchers of a service that is killed during many leader changes: no event is missed or repeated. */
import { afterEach, beforeEach, expect, it } from "vitest";
import { Api, mustSucceed, termWon } from "./api.test-kit.js";
import { RestartedServer } from "./restarted-server.test-kit.js";
import { Scratch } from "./scratch.test-kit.js";
import { SseWatcher } from "./sse-watcher.test-kit.js";

const GROUPS = ["payments", "a/b:c"] as const;
const CHANGES = 250;
const KILLED_AT = 120;
/** Watchers of each group. The late ones stay away for longer than the service keeps events. */
const WATCHERS = 90;
const LATE_WATCHERS = 10;
const LATE_BY_CHANGES = 60;
const KEPT_EVENTS = 64;

let scratch: Scratch;
let server: RestartedServer;
let api: Api;
let watchers: SseWatcher[];
beforeEach(async () => {
  scratch = new Scratch();
  watchers = [];
  server = await RestartedServer.start(scratch, scratch.directory());
  api = new Api(server.port);
});
afterEach(async () => {
  for (const watcher of watchers) watcher.stop();
  api.close();
  await scratch.close();
});

/** A number that others can wait for. */
class Count {
  #value = 0;
  #waiting: { readonly value: number; readonly resolve: () => void }[] = [];

  raise(): void {
    this.#value++;
    for (const each of this.#waiting) if (each.value <= this.#value) each.resolve();
    this.#waiting = this.#waiting.filter((each) => each.value > this.#value);
  }

  reached(value: number): Promise<void> {
    if (this.#value >= value) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push({ value, resolve }));
  }
}

/** Two nodes in turn, each elected and resigned: two events per change, whatever was repeated. */
async function changeLeaders(group: string, changes: Count): Promise<void> {
  for (let change = 1; change <= CHANGES; change++) {
    const node = change % 2 === 1 ? "node-a" : "node-b";
    const term = termWon(await server.ask(() => api.campaign(group, node, 60_000)));
    expect(term).toBe(change);
    mustSucceed(await server.ask(() => api.resign(group, node, term)));
    changes.raise();
  }
}

function watch(group: string | null, count: number, port: () => Promise<number>): SseWatcher[] {
  const path = group === null ? "/v1/watch" : `/v1/groups/${encodeURIComponent(group)}/watch`;
  const made = Array.from({ length: count }, () => new SseWatcher({ path, port }));
  watchers.push(...made);
  return made;
}

/** The event of that number, of any group: no leader yet, then elected and resigned in turn. */
function eventOf(id: number, type?: "RESYNC"): string {
  const term = Math.ceil(id / 2);
  if (id % 2 === 0) return `${type ?? "LEADER_LOST"} ${term} null ${id === 0 ? "none" : "resigned"}`;
  const reason = id === 1 ? "none" : "resigned";
  return `${type ?? "LEADER_CHANGED"} ${term} ${term % 2 === 1 ? "node-a" : "node-b"} ${reason}`;
}

/** The errors in everything that a watcher received. A RESYNC may only replace more events than are kept. */
function faults({ received, connections }: SseWatcher, group: string, resyncs: number): string[] {
  const found: string[] = [];
  let lastId = -1;
  for (const { id, type, term, leaderNodeId, reason, groupId } of received) {
    const isResync = type === "RESYNC";
    if (isResync ? id - lastId <= KEPT_EVENTS : id !== lastId + 1)
      found.push(`${type} ${id} after ${lastId}`);
    const told = `${type} ${term} ${leaderNodeId} ${reason}`;
    const expected = eventOf(id, isResync ? "RESYNC" : undefined);
    if (told !== expected || groupId !== group) found.push(`${groupId} ${id} is ${told}, not ${expected}`);
    lastId = id;
  }
  if (lastId !== 2 * CHANGES) found.push(`the last is ${lastId}`);
  if (connections !== 2) found.push(`it took ${connections} connections`);
  const got = received.filter(({ type }) => type === "RESYNC").length;
  if (got !== resyncs) found.push(`${got} RESYNC`);
  return found;
}

it("200 watchers resume from their cursor after kill -9 and get every event once", async () => {
  const groups = GROUPS.map((group) => {
    const changes = new Count();
    const afterLong = async () => {
      if (killed) await changes.reached(KILLED_AT + LATE_BY_CHANGES);
      return server.up();
    };
    const regular = watch(group, WATCHERS, () => server.up());
    return { group, changes, regular, late: watch(group, LATE_WATCHERS, afterLong) };
  });
  let killed = false;
  const opened = Promise.all(watchers.map((watcher) => watcher.opened()));
  const followed = Promise.all(watchers.map((watcher) => watcher.follow()));
  await opened;

  const changed = Promise.all(groups.map(({ group, changes }) => changeLeaders(group, changes)));
  await Promise.all(groups.map(({ changes }) => changes.reached(KILLED_AT)));
  killed = true;
  await server.killAndRestart();
  await changed;
  await Promise.all(watchers.map((watcher) => watcher.until(({ id }) => id === 2 * CHANGES)));
  for (const watcher of watchers) watcher.stop();
  await followed;

  for (const { group, regular, late } of groups) {
    for (const watcher of regular) expect(faults(watcher, group, 0)).toEqual([]);
    for (const watcher of late) expect(faults(watcher, group, 1)).toEqual([]);
  }
});

it("a watcher of all groups resumes after kill -9, and gets no old change as new", async () => {
  const [watcher] = watch(null, 1, () => server.up()) as [SseWatcher];
  const opened = watcher.opened();
  const followed = watcher.follow();
  await opened;
  for (const group of GROUPS) {
    for (const node of ["node-a", "node-b"]) {
      const term = termWon(await api.campaign(group, node, 60_000));
      if (node === "node-a") mustSucceed(await api.resign(group, node, term));
    }
    await watcher.until((event) => event.groupId === group && event.term === 2);
  }
  const before = watcher.received.map(({ groupId, type, term }) => [groupId, type, term]);
  expect(before).toEqual(
    GROUPS.flatMap((group) => [
      [group, "LEADER_CHANGED", 1],
      [group, "LEADER_LOST", 1],
      [group, "LEADER_CHANGED", 2],
    ]),
  );
  const reopened = watcher.opened();
  await server.killAndRestart();
  await reopened;
  termWon(await api.campaign("another", "node-c", 60_000));
  await watcher.until(({ groupId }) => groupId === "another");
  watcher.stop();
  await followed;
  const after = watcher.received.slice(before.length);
  const news = after.filter(({ type }) => type !== "RESYNC").map(({ groupId }) => groupId);
  expect(news).toEqual(["another"]);
  for (const { type, term, leaderNodeId } of after) {
    if (type === "RESYNC") expect([term, leaderNodeId]).toEqual([2, "node-b"]);
  }
});
