import { BackendUnavailableError, type Revision } from "@tenure/core";
import { boundMs, isMissing, type NatsEngine, startNats } from "@tenure/engines";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { NatsStore } from "./nats-store.js";
import { parseNatsUrl } from "./options.js";
import { Follower, keepWriting, RegisterCheck, snapshotOf } from "./register-check.test-kit.js";
import { ServerClient, until } from "./server.test-kit.js";
import { comparesTooEarly } from "./bucket.js";

/** An election takes 4 to 9 seconds, and the machine may be busy. */
const ELECTION_MS = 45_000;
const BOUND_MS = 10_000;

/**
 * As many replicas as the version of the servers allows; with one, the bucket is unavailable while its server is. Each
 * test has its own cluster, and stops a leader once.
 */
describe.skipIf(isMissing("newer nats"))("a cluster of three NATS servers", () => {
  let engine: NatsEngine;
  let client: ServerClient;
  let isReplicated = false;
  const stores: NatsStore[] = [];

  beforeEach(async () => {
    engine = await startNats({ nodes: 3, release: "newer" });
    client = await ServerClient.open(engine.ports);
    isReplicated = !comparesTooEarly(client.version);
    const url = engine.urlOf("tenure", isReplicated ? 3 : 1);
    for (let i = 0; i < 2; i++) stores.push(await NatsStore.open(parseNatsUrl(url)));
  });
  afterEach(async () => {
    for (const store of stores.splice(0)) await store.close();
    await client?.connection.close();
    await engine?.stop();
  });

  const leader = async () => {
    const name = await client.leader("tenure");
    return engine.nodes.find((node) => node.name === name) as NatsEngine["nodes"][number];
  };

  /** Two stores write while `fault` happens; returns when both have written again after it. */
  async function underLoad(fault: () => Promise<void>, mend: () => Promise<void>): Promise<RegisterCheck> {
    const check = new RegisterCheck();
    const stop = new AbortController();
    const followers = stores.map((store) => new Follower(store));
    const writers = [0, 1, 2, 3].map((i) =>
      keepWriting(stores[i % 2] as NatsStore, check, i + 1, stop.signal),
    );
    const written = (more: number): Promise<true> => {
      const due = check.count + more;
      return until(`${more} more writes`, ELECTION_MS, () => check.count >= due || null);
    };
    try {
      await Promise.race([written(200), ...writers]);
      await fault();
      if (isReplicated) await Promise.race([written(200), ...writers]);
      else await until("the fault is felt", ELECTION_MS, () => check.failures > 0 || null);
      await mend();
      await Promise.race([written(200), ...writers]);
    } finally {
      stop.abort();
      await Promise.all(writers);
    }
    await judge(check, followers);
    return check;
  }

  async function judge(check: RegisterCheck, followers: readonly Follower[]): Promise<void> {
    for (const [i, store] of stores.entries()) {
      const last = await until("a sync", ELECTION_MS, () => store.sync());
      expect(last).toBeGreaterThan(check.highest);
      const follower = followers[i] as Follower;
      await until("the feed is there", ELECTION_MS, () => follower.progress >= last || null);
      check.judge(follower.seen);
      expect(await snapshotOf(store)).toEqual(follower.seen);
      await follower.stop();
    }
  }

  test("the NATS leader is killed under load: no acknowledged write is lost, and no revision is replaced twice", async () => {
    const node = await leader();
    await underLoad(
      () => node.kill(),
      () => node.start(),
    );
  });

  test("the NATS leader hangs under load, is deposed and returns: no acknowledged write is lost or replaced twice", async () => {
    const node = await leader();
    await underLoad(
      () => node.pause(),
      () => Promise.resolve(node.resume()),
    );
  });

  test("without a majority of NATS calls end soon, and everything works again afterwards", async () => {
    const [store] = stores as [NatsStore];
    const follower = new Follower(store);
    const [created] = await store.compareAndSet([{ key: "r/a", expected: null, value: "1" }]);
    const revision = (created as { revision: Revision }).revision;
    const first = await leader();
    const gone = [first, engine.nodes.find((node) => node !== first) as typeof first];
    await Promise.all(gone.map((node) => node.kill()));

    const startedAtMs = performance.now();
    const written = await store
      .compareAndSet([{ key: "r/a", expected: revision, value: "2" }])
      .catch((error: unknown) => error);
    expect(performance.now() - startedAtMs).toBeLessThan(boundMs(BOUND_MS));
    const outcome = Array.isArray(written) ? (written[0] as { kind: string }).kind : written;
    if (outcome !== "uncertain") expect(outcome).toBeInstanceOf(BackendUnavailableError);
    await expect(store.sync()).rejects.toThrow(BackendUnavailableError);
    expect(performance.now() - startedAtMs).toBeLessThan(boundMs(2 * BOUND_MS));

    await Promise.all(gone.map((node) => node.start()));
    const last = await until("a sync", ELECTION_MS, () => store.sync());
    expect(last).toBeGreaterThan(revision);
    await until("the feed is there", ELECTION_MS, () => follower.progress >= last || null);
    expect(["1", "2"]).toContain(follower.seen.get("r/a")?.value);
    await follower.stop();
  });
});
