/** A participant: elections in a separate process that follows orders. It runs the build: `tsc -b` comes first. */
import { writeSync } from "node:fs";
import { Election, HttpElector } from "@tenure/client";
import { workerRenewer } from "@tenure/client/worker";
import type { Elector } from "@tenure/core";
import { fenced, fencedFetch } from "@tenure/fence";
import { Client } from "pg";
import { Tally } from "./tally.test-kit.js";
import { machineMs, type Order, type ParticipantOptions, type Told } from "./messages.test-kit.js";

const options = JSON.parse(process.argv[2] ?? "") as ParticipantOptions;
const { nodeId, ttlMs, stallLimitMs, busyAtFirstMs, endpoints } = options;
const tally = new Tally();
const client = options.postgres === undefined ? null : new Client(options.postgres);
await client?.connect();
const shared = endpoints === undefined ? null : await HttpElector.open({ endpoints });
const renewer =
  stallLimitMs === undefined || endpoints === undefined
    ? undefined
    : workerRenewer({ elector: { endpoints }, stallLimitMs });

interface Led {
  readonly election: Election;
  term: number;
  signal: AbortSignal | null;
}
/** By node and group. */
const led = new Map<string, Led>();

function tell(told: Told): void {
  process.send?.(told);
}

function of(group: string): Led {
  const found = led.get(`${nodeId} ${group}`);
  if (found === undefined) throw new Error(`${nodeId} has no election for ${group}`);
  return found;
}

function openElector(): Promise<Elector> {
  return shared === null ? tally.open(options.store ?? "") : Promise.resolve(shared);
}

async function start(group: string, as: string = nodeId): Promise<void> {
  const election = new Election(await openElector(), {
    groupId: group,
    nodeId: as,
    ttlMs,
    ...(renewer === undefined ? {} : { renewer }),
    metrics: tally.metrics((code) => tell({ kind: "failure", code })),
  });
  const state: Led = { election, term: 0, signal: null };
  election.onPromote(({ term }, signal) => {
    tell({ kind: "promoted", group, term, atMs: machineMs() });
    Object.assign(state, { term, signal });
    if (busyAtFirstMs !== undefined) hold(group, busyAtFirstMs);
  });
  election.onDemote((reason) => tell({ kind: "demoted", group, reason, atMs: machineMs() }));
  led.set(`${as} ${group}`, state);
  await election.start();
  tell({ kind: "started", group, leaderId: election.leaderId() });
}

async function stop(group: string): Promise<void> {
  const { election } = of(group);
  tell({ kind: "stopping", group, atMs: machineMs() });
  await election.stop();
  tell({ kind: "stopped", group });
}

/** No turn of the event loop between the hold and the first isLeader(). */
function hold(group: string, ms: number | "until-paused"): void {
  const { election, signal } = of(group);
  // Before the message is sent: the pause may come with it.
  const sinceMs = machineMs();
  // At once, not at the next turn of the event loop.
  writeSync(1, "held\n");
  if (ms === "until-paused") untilPaused(sinceMs, () => election.isLeader());
  else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
  const isLeader = election.isLeader();
  tell({ kind: "held", group, isLeader, isAborted: signal?.aborted === true });
}

/** Calls isLeader() continuously, as busy work does. Returns after a gap that only a pause can cause. */
function untilPaused(sinceMs: number, ask: () => boolean): void {
  for (let lastMs = sinceMs; ;) {
    const nowMs = machineMs();
    if (nowMs - lastMs > ttlMs) return;
    ask();
    lastMs = nowMs;
  }
}

async function write(group: string): Promise<void> {
  const { term } = of(group);
  const claim = { groupId: group, term };
  const postgres = client === null ? Promise.resolve("none") : outcome(fenced(client, claim, insert));
  const http =
    options.http === undefined
      ? Promise.resolve("none")
      : outcome(fencedFetch(fetch, () => claim)(options.http, { method: "POST" }).then(mustBeOk));
  tell({ kind: "wrote", postgres: await postgres, http: await http });
}

async function insert(transaction: Client): Promise<void> {
  await transaction.query("INSERT INTO written VALUES ($1)", [nodeId]);
}

async function mustBeOk(response: Response): Promise<void> {
  if (!response.ok) throw new Error(`the guarded resource answered ${response.status}`);
  await response.text();
}

/** `ok`, or the code of the refusal. */
async function outcome(writing: Promise<unknown>): Promise<string> {
  try {
    await writing;
    return "ok";
  } catch (error) {
    return (error as { code?: string }).code ?? String(error);
  }
}

const ASKED = 1_000_000;
const ROUNDS = 100;
const ASKED_EACH = ASKED / ROUNDS;

function cost(group: string): void {
  const { election } = of(group);
  const ask = () => election.isLeader();
  const look = () => performance.now() > 0;
  // The first round is for the JIT compiler.
  for (const each of [ask, look]) nanosecondsOf(each);
  tell({ kind: "cost", askNs: nanosecondsOf(ask), lookNs: nanosecondsOf(look), bytes: bytesOf(ask) });
}

/** The median of many rounds, because the process is sometimes interrupted. */
function bytesOf(ask: () => boolean): number {
  const rounds = Array.from({ length: ROUNDS }, () => {
    const before = process.memoryUsage().heapUsed;
    for (let i = 0; i < ASKED_EACH; i++) ask();
    return (process.memoryUsage().heapUsed - before) / ASKED_EACH;
  });
  return rounds.toSorted((a, b) => a - b)[ROUNDS / 2] ?? 0;
}

/** Processor time, so that other processes do not count. */
function nanosecondsOf(ask: () => boolean): number {
  const begun = process.cpuUsage();
  let yes = 0;
  for (let i = 0; i < ASKED; i++) if (ask()) yes++;
  const { user, system } = process.cpuUsage(begun);
  if (yes !== ASKED) throw new Error(`${nodeId} did not lead all the time`);
  return ((user + system) * 1e3) / ASKED;
}

async function close(): Promise<void> {
  await Promise.all([...led.values()].map(({ election }) => election.stop()));
  await Promise.all([shared?.close(), tally.close()]);
  await client?.end();
  process.disconnect();
}

function obey(order: Order): void | Promise<void> {
  switch (order.kind) {
    case "start":
      return start(order.group, order.nodeId);
    case "stop":
      return stop(order.group);
    case "hold":
      return hold(order.group, order.ms);
    case "write":
      return write(order.group);
    case "cost":
      return cost(order.group);
    case "count":
      return tell({ kind: "count", campaigns: tally.campaigns, writes: tally.writes, syncs: tally.syncs });
    case "close":
      return close();
  }
}

process.on("message", (order: Order) => void obey(order));
tell({ kind: "ready" });
