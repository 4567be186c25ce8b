import { InvalidRequestError } from "@tenure/core";
import { storeConformance } from "@tenure/core/conformance";
import { isMissing, type NatsEngine, startNats } from "@tenure/engines";
import { headers } from "@nats-io/transport-node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { NatsStore } from "./nats-store.js";
import { parseNatsUrl } from "./options.js";
import { Follower } from "./register-check.test-kit.js";
import { ServerClient, until } from "./server.test-kit.js";
import { comparesTooEarly } from "./bucket.js";
import { newStreamConfig } from "./stream-settings.js";

interface Ack {
  readonly seq: number;
  readonly error?: { readonly err_code: number };
}

for (const [release, installed] of [
  ["system", "nats"],
  ["newer", "newer nats"],
] as const) {
  describe.skipIf(isMissing(installed))(`three servers of ${installed}`, () => {
    let engine: NatsEngine;
    let client: ServerClient;
    /** As many replicas as the version of the servers allows. */
    let replicas = 1;
    beforeAll(async () => {
      engine = await startNats({ nodes: 3, release });
      client = await ServerClient.open(engine.ports);
      replicas = comparesTooEarly(client.version) ? 1 : 3;
    });
    afterAll(async () => {
      await client?.connection.close();
      await engine?.stop();
    });

    storeConformance({
      test,
      open: (space) => NatsStore.open(parseNatsUrl(engine.urlOf(space, replicas))),
      dispose: (space) => client.remove(space),
    });

    /**
     * Many writers compare with the same revision at once, without a store; returns how many of them were acknowledged.
     */
    async function race(bucket: string, rounds: number): Promise<number[]> {
      await client.api(`STREAM.CREATE.KV_${bucket}`, newStreamConfig(bucket, 3));
      const publish = async (expected: number): Promise<Ack> => {
        const comparison = headers();
        comparison.set("Nats-Expected-Last-Subject-Sequence", String(expected));
        const options = { headers: comparison, timeout: 10_000 };
        return (await client.connection.request(`$KV.${bucket}.k`, "", options)).json<Ack>();
      };
      let present = (await until("the stream has a leader", 30_000, () => publish(0))).seq;
      const winners: number[] = [];
      for (let round = 0; round < rounds; round++) {
        const acks = await Promise.all(Array.from({ length: 30 }, () => publish(present)));
        const won = acks.filter(({ error }) => error === undefined);
        winners.push(won.length);
        present = Math.max(present, ...won.map(({ seq }) => seq));
      }
      return winners;
    }

    test("a version whose replicated streams let several writers win is refused, and no other version", async () => {
      const doubled = (await race("raced", 50)).filter((count) => count > 1).length;
      const options = parseNatsUrl(engine.urlOf("replicated", 3));
      if (replicas === 1) {
        expect(doubled).toBeGreaterThan(0);
        await expect(NatsStore.open(options)).rejects.toThrow(
          /^replicas must be 1 with nats-server 2\.9\.\d+: .* upgrade every server/,
        );
        await expect(NatsStore.open({ ...options, bucket: "raced" })).rejects.toThrow(InvalidRequestError);
      } else {
        expect(doubled).toBe(0);
        const store = await NatsStore.open(options);
        expect([store.replicas, store.serverVersion]).toEqual([3, client.version]);
        await store.close();
      }
    });

    test("a consumer that was requested twice is created once, and its feed continues", async () => {
      const asked: string[] = [];
      const repeated = client.connection.subscribe("$JS.API.CONSUMER.CREATE.>", {
        callback: (_, { subject, data, reply }) => {
          // The repetition arrives here too, and has no reply subject.
          if (reply === undefined || reply === "") return;
          asked.push(subject);
          client.connection.publish(subject, data);
        },
      });
      await client.connection.flush();
      const store = await NatsStore.open(parseNatsUrl(engine.urlOf("repeated", replicas)));
      const follower = new Follower(store);
      for (let count = 0; count < 50; count++) {
        const [outcome] = await store.compareAndSet([{ key: `k/${count}`, expected: null, value: "" }]);
        expect(outcome).toMatchObject({ kind: "swapped" });
      }
      await until("all are shown", 30_000, () => follower.seen.size === 50);
      // A request whose answer comes late is sent again, for the same consumer.
      expect(new Set(asked).size).toBe(1);
      expect(follower.breaks).toEqual([]);
      repeated.unsubscribe();
      await follower.stop();
      await store.close();
    });

    test("more replicas than servers are refused", async () => {
      const options = { ...parseNatsUrl(engine.urlOf("many")), replicas: 5 };
      await expect(NatsStore.open(options)).rejects.toThrow(/^replicas must/);
    });
  });
}

test.each([
  ["2.9.0", true],
  ["2.9.10", true],
  ["2.9.20", true],
  ["2.9.21", false],
  ["2.9.21-RC.1", false],
  ["2.10.0", false],
  ["2.15.1", false],
  ["3.0.0", false],
  ["", true],
])("nats-server version %s compares too early: %s", (version, isEarly) => {
  expect(comparesTooEarly(version)).toBe(isEarly);
});
