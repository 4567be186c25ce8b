/**
 * Five servers on a network of real machines' making, cut in every way: at most one of them leads at every moment, and
 * one again after healing. Each moment is a look at all of them; each look asks every server itself.
 */
import { sleep, systemClock } from "@tenure/core";
import { isChaos, isMissing, TestNetwork } from "@tenure/engines";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { until } from "../engines/until.test-kit.js";
import { type ClusterNode, TestCluster } from "./cluster.test-kit.js";

const NAMES = ["m1", "m2", "m3", "m4", "m5"];
const TTL_MS = 2500;
/** Longer than a member's lease, which runs out in real time. */
const LONG_MS = 4 * TTL_MS;
/** Enough for any lease to expire. */
const A_WHILE_MS = 2 * TTL_MS;
const LOOK_MS = isChaos ? 40 : 100;

/** A server led for certain from the end of the first poll that showed it to the beginning of the last, in one term. */
interface Sighting {
  readonly node: string;
  readonly term: number;
  readonly askedMs: number;
  readonly answeredMs: number;
}

describe.skipIf(isMissing("ip"))("five servers on a network that is cut", () => {
  let network: TestNetwork;
  let cluster: TestCluster;
  const sightings: Sighting[] = [];
  let watching: AbortController;
  let watched: Promise<unknown>;

  // One network for all tests: closing one takes a while, and so does starting five servers.
  beforeAll(async () => {
    network = new TestNetwork(NAMES);
    const places = Object.fromEntries(NAMES.map((name) => [name, network.machine(name)]));
    cluster = await TestCluster.started(NAMES, { ttlMs: TTL_MS, places });
    watching = new AbortController();
    watched = Promise.all(cluster.nodes.map(watch));
  });
  afterAll(async () => {
    watching?.abort(new Error("done"));
    await watched;
    await cluster?.close();
    network?.close();
  });
  beforeEach(async () => {
    network.heal();
    for (const node of cluster.nodes) if (node.process?.isRunning !== true) await cluster.start(node);
    await cluster.settled();
  });
  afterEach(() => expect(violations()).toEqual([]));

  /** From outside, where no link is cut. */
  async function watch(node: ClusterNode): Promise<void> {
    while (!watching.signal.aborted) {
      const askedMs = performance.now();
      const view = await cluster.leaderAt(node);
      const answeredMs = performance.now();
      if (view?.peer.leading === true)
        sightings.push({ node: node.name, term: view.term, askedMs, answeredMs });
      await sleep(systemClock, LOOK_MS, watching.signal).catch(() => {});
    }
  }

  /** Terms with two holders, and spans of two leaders that certainly overlap. */
  function violations(): readonly string[] {
    const found: string[] = [];
    const terms = new Map<number, { node: string; fromMs: number; toMs: number }>();
    for (const { node, term, askedMs, answeredMs } of sightings) {
      const span = terms.get(term);
      if (span === undefined) terms.set(term, { node, fromMs: answeredMs, toMs: askedMs });
      else if (span.node !== node) found.push(`term ${term} was led by ${span.node} and ${node}`);
      else
        terms.set(term, {
          node,
          fromMs: Math.min(span.fromMs, answeredMs),
          toMs: Math.max(span.toMs, askedMs),
        });
    }
    const spans = [...terms].toSorted(([a], [b]) => a - b);
    for (const [index, [term, span]] of spans.entries()) {
      for (const [later, other] of spans.slice(index + 1)) {
        if (other.fromMs < span.toMs && span.fromMs < other.toMs)
          found.push(`terms ${term} of ${span.node} and ${later} of ${other.node} overlap`);
      }
    }
    return found;
  }

  async function heals(): Promise<void> {
    network.heal();
    const healedMs = performance.now();
    await cluster.leader(6 * TTL_MS);
    console.log(`one leader again ${Math.round(performance.now() - healedMs)} ms after healing`);
    expect(sightings.length).toBeGreaterThan(0);
  }

  /** The part with the leader first. */
  async function parts(...sizes: readonly number[]): Promise<readonly ClusterNode[][]> {
    const leader = await cluster.leader();
    const rest = [leader, ...cluster.nodes.filter((node) => node !== leader)];
    return sizes.map((size) => rest.splice(0, size));
  }

  const names = (nodes: readonly ClusterNode[]): readonly string[] => nodes.map(({ name }) => name);

  async function leadingIn(nodes: readonly ClusterNode[]): Promise<readonly ClusterNode[]> {
    const leading = await cluster.leading();
    return nodes.filter((node) => leading.includes(node));
  }

  it("3/2 with the leader among the two: the three elect, the two have no leader, and it follows when reconnected", async () => {
    const [two = [], three = []] = await parts(2, 3);
    const old = two[0] as ClusterNode;
    network.partition(names(two), names(three));
    await until(12 * TTL_MS, "the three have a leader", async () => (await leadingIn(three)).length === 1);
    expect(await leadingIn(two)).toEqual([]);
    await sleep(systemClock, LONG_MS);
    await heals();
    expect(await cluster.leading()).not.toEqual([old]);
  });

  it("3/2 with the leader among the three: it continues to lead, and the registries of both sides merge", async () => {
    const [three = [], two = []] = await parts(3, 2);
    const change = (node: ClusterNode | undefined, verb: string, name: string): Promise<void> =>
      until(20 * TTL_MS, `${verb} ${name}`, async () => {
        const body = { backend_hash: name, endpoint: "https://resource:1" };
        const asked = { as: (node as ClusterNode).bundle, body };
        return (await cluster.ask(node as ClusterNode, "POST", `/v1/tc/rm/${verb}`, asked)).status === 200;
      });
    await change(three[0], "register", "removed");
    network.partition(names(three), names(two));
    await sleep(systemClock, LONG_MS);
    expect(await leadingIn(two)).toEqual([]);
    expect(await leadingIn(three)).toHaveLength(1);
    await change(two[0], "unregister", "removed");
    await change(three[0], "register", "added");
    await heals();
    await until(20 * TTL_MS, "all have the one and not the other", async () => {
      const lists = await Promise.all(
        cluster.nodes.map((node) => cluster.ask(node, "GET", "/v1/tc/rm/list")),
      );
      return lists.every(({ body }) => {
        const backends = body["backends"] as readonly { backend_hash: string }[];
        const known = new Set(backends.map((each) => each.backend_hash));
        return known.has("added") && !known.has("removed");
      });
    });
  });

  it("2/2/1: no server leads, for longer than a member's lease", async () => {
    const [first = [], second = [], last = []] = await parts(2, 2, 1);
    network.partition(names(first), names(second), names(last));
    await until(5 * TTL_MS, "nobody leads", async () => (await cluster.leading()).length === 0);
    const sinceMs = performance.now();
    await sleep(systemClock, LONG_MS);
    expect(sightings.filter(({ askedMs }) => askedMs > sinceMs)).toEqual([]);
    await heals();
  });

  it("a server that sends but receives nothing does no harm, even if it is the leader", async () => {
    const [[deaf] = [], others = []] = await parts(1, 4);
    for (const { name } of others) network.silence(name, (deaf as ClusterNode).name);
    await until(12 * TTL_MS, "another leads", async () => (await leadingIn(others)).length === 1);
    await sleep(systemClock, A_WHILE_MS);
    expect(await leadingIn([deaf as ClusterNode])).toEqual([]);
    await heals();
  });

  it("a server that can announce itself but cannot be reached does not stop the others", async () => {
    const [[leader] = [], others = []] = await parts(1, 4);
    const mute = others[3] as ClusterNode;
    // Its endpoint leads to no server.
    await mute.process?.end("SIGKILL");
    await cluster.start(mute, { args: ["--advertise", `https://${network.nowhere}:1`] });
    await sleep(systemClock, A_WHILE_MS);
    expect(await leadingIn([leader as ClusterNode, ...others.slice(0, 3)])).toHaveLength(1);
    await mute.process?.end("SIGKILL");
  });

  it("a server that leaves and is killed at once is removed by the leader, and a leader by its successor", async () => {
    const [[leader] = [], others = []] = await parts(1, 4);
    const leave = async (node: ClusterNode): Promise<void> => {
      const asked = await cluster.ask(node, "POST", "/v1/tc/cluster/leave", { as: node.bundle });
      await node.process?.end("SIGKILL");
      expect(asked.status).toBe(200);
    };
    await leave(others[0] as ClusterNode);
    await cluster.settled();
    expect(await cluster.leading()).toEqual([leader]);
    await leave(leader as ClusterNode);
    await cluster.settled();
    expect(await leadingIn(others.slice(1))).toHaveLength(1);
  });

  it("a server with a wiped disk and its old identity is a new voter: removed, then added", async () => {
    const [, others = []] = await parts(1, 4);
    const wiped = others[0] as ClusterNode;
    const before = (await cluster.leaderAt(wiped))?.peer.disk;
    await wiped.process?.end("SIGKILL");
    cluster.wipe(wiped);
    const join = cluster.endpoints.filter((endpoint) => endpoint !== wiped.endpoint);
    await cluster.start(wiped, { join });
    await cluster.settled();
    const view = await cluster.leaderAt(wiped);
    expect(view?.peer.disk).not.toBe(before);
    expect(view?.peer.config?.members[wiped.identity]?.disk).toBe(view?.peer.disk);
  });
});
