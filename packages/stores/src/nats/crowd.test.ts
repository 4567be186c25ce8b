/** Many stores on one bucket: one of them must not make the others write. */
import { type CasOutcome, type Revision, sleep, systemClock } from "@tenure/core";
import { isMissing, type NatsEngine, startNats } from "@tenure/engines";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { NatsStore } from "./nats-store.js";
import { parseNatsUrl } from "./options.js";
import { Follower } from "./register-check.test-kit.js";
import { ServerClient, until } from "./server.test-kit.js";

const SOON_MS = 20_000;
const ROUNDS = 25;
/**
 * Extra writes allowed, as a part of those asked for: for a gap that no message explains, which a busy machine makes more
 * frequent. Stores that made each other write would write at least once more for each write.
 */
const SPARE = 0.1;
/** In this time a storm would write thousands of messages. */
const QUIET_MS = 500;

class Crowd implements AsyncDisposable {
  readonly stores: readonly NatsStore[];
  readonly followers: readonly Follower[];

  constructor(stores: readonly NatsStore[]) {
    this.stores = stores;
    this.followers = stores.map((store) => new Follower(store));
  }

  static async open(url: string, count: number): Promise<Crowd> {
    return new Crowd(
      await Promise.all(Array.from({ length: count }, () => NatsStore.open(parseNatsUrl(url)))),
    );
  }

  /** Each round is two writes: the barrier of a sync, and an entry. Resolves with the last revision of `key`. */
  async ask(index: number, key: string): Promise<Revision> {
    const store = this.stores[index] as NatsStore;
    let present: Revision | null = null;
    for (let round = 0; round < ROUNDS; round++) {
      await store.sync();
      const [outcome] = await store.compareAndSet([{ key, expected: present, value: `${round}` }]);
      present = (outcome as CasOutcome & { kind: "swapped" }).revision;
    }
    return present as Revision;
  }

  /** Waits until all followers have reached the last revision, with one more write. */
  async allReachTheLast(): Promise<void> {
    const last = await (this.stores[0] as NatsStore).sync();
    await until("all have come there", SOON_MS, () =>
      this.followers.every(({ progress }) => progress >= last),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.followers.map((each) => each.stop()));
    await Promise.all(this.stores.map((each) => each.close()));
  }
}

for (const [release, installed] of [
  ["system", "nats"],
  ["newer", "newer nats"],
] as const) {
  describe.skipIf(isMissing(installed))(`many stores on a bucket of ${installed}`, () => {
    let engine: NatsEngine;
    let client: ServerClient;
    beforeAll(async () => {
      engine = await startNats({ release });
      client = await ServerClient.open(engine.ports);
    });
    afterAll(async () => {
      await client?.connection.close();
      await engine?.stop();
    });

    test.each([
      [5, 1],
      [20, 1],
      [40, 1],
      [20, 20],
      [40, 40],
    ])("with %i stores of which %i read, only their barriers are written", async (count, asking) => {
      const bucket = `crowd-${count}-${asking}`;
      const lastOf = async (): Promise<Revision> => (await client.info(bucket)).state.last_seq;
      await using crowd = await Crowd.open(engine.urlOf(bucket), count);
      await crowd.allReachTheLast();
      const before = await lastOf();
      const written = await Promise.all(
        Array.from({ length: asking }, (_, index) => crowd.ask(index, `r/${index}`)),
      );
      await crowd.allReachTheLast();
      await sleep(systemClock, QUIET_MS);
      const asked = asking * ROUNDS * 2 + 1;
      const caused = (await lastOf()) - before - asked;
      expect(caused, `beside ${asked} writes that were asked for`).toBeLessThan(SPARE * asked + 5);
      for (const { seen, breaks } of crowd.followers) {
        expect(breaks).toEqual([]);
        for (const [index, revision] of written.entries()) {
          expect(seen.get(`r/${index}`)).toMatchObject({ value: `${ROUNDS - 1}`, revision });
        }
      }
    });

    test("a store keeps its barrier subjects until another store writes to them, and then takes new ones", async () => {
      await using crowd = await Crowd.open(engine.urlOf("heads"), 1);
      const [store] = crowd.stores as [NatsStore];
      const subjectOf = async (barrier: Revision): Promise<string> => {
        const answer = await client.api<{ message: { subject: string } }>("STREAM.MSG.GET.KV_heads", {
          seq: barrier,
        });
        return answer.message.subject;
      };
      await crowd.allReachTheLast();
      const subjectsOf = async (syncs: number): Promise<Set<string>> => {
        const subjects = new Set<string>();
        for (let i = 0; i < syncs; i++) subjects.add(await subjectOf(await store.sync()));
        return subjects;
      };
      // The store's own barrier may be in flight meanwhile, and then has another name.
      const subjects = await subjectsOf(20);
      expect(subjects.size).toBeLessThanOrEqual(3);
      // A message that the store replaces before delivery is not seen, so the other writer repeats until it is seen.
      for (let tries = 0; ; tries++) {
        for (const subject of subjects) await client.connection.request(subject, "another");
        await crowd.allReachTheLast();
        const later = await subjectsOf(5);
        if ([...later].every((subject) => !subjects.has(subject))) break;
        expect(tries).toBeLessThan(50);
      }
    });

    test("after a burst of writes without replaced revisions all feeds catch up, and then no store writes", async () => {
      await using crowd = await Crowd.open(engine.urlOf("burst"), 20);
      await crowd.allReachTheLast();
      for (let i = 0; i < 2000; i++) client.connection.publish(`$KV.burst.r/${i % 7}`, `${i}`);
      await client.connection.flush();
      await crowd.allReachTheLast();
      const values = crowd.followers.map(({ seen }) => [...seen.values()].map(({ value }) => Number(value)));
      for (const each of values)
        expect(each.toSorted((a, b) => a - b)).toEqual([1993, 1994, 1995, 1996, 1997, 1998, 1999]);
      await sleep(systemClock, QUIET_MS);
      const { last_seq: before } = (await client.info("burst")).state;
      await sleep(systemClock, QUIET_MS);
      expect((await client.info("burst")).state.last_seq).toBe(before);
    });
  });
}
