import { BackendUnavailableError, InvalidRequestError } from "@tenure/core";
import { isMissing, type NatsEngine, startNats } from "@tenure/engines";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { NatsStore } from "./nats-store.js";
import { type NatsStoreOptions, parseNatsUrl } from "./options.js";
import { snapshotOf } from "./register-check.test-kit.js";
import { ServerClient } from "./server.test-kit.js";
import { newStreamConfig } from "./stream-settings.js";

async function refusal(options: NatsStoreOptions): Promise<InvalidRequestError> {
  const error: unknown = await NatsStore.open(options).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(InvalidRequestError);
  return error as InvalidRequestError;
}

describe.skipIf(isMissing("nats"))("the bucket of a NATS store", () => {
  let engine: NatsEngine;
  let client: ServerClient;
  beforeAll(async () => {
    engine = await startNats();
    client = await ServerClient.open(engine.ports);
  });
  afterAll(async () => {
    await client?.connection.close();
    await engine?.stop();
  });

  const options = (bucket: string, rest: Partial<NatsStoreOptions> = {}): NatsStoreOptions => {
    return { ...parseNatsUrl(engine.urlOf(bucket)), ...rest };
  };
  const make = (bucket: string, settings: object) =>
    client.api(`STREAM.CREATE.KV_${bucket}`, { ...newStreamConfig(bucket, 1), ...settings });

  test("the bucket is an ordinary key-value bucket, readable by other tools", async () => {
    const store = await NatsStore.open(options("made"));
    await store.compareAndSet([{ key: "r/eu:payments", expected: null, value: "{}" }]);
    const { config } = await client.info("made");
    expect(config).toMatchObject({
      name: "KV_made",
      subjects: ["$KV.made.>"],
      storage: "file",
      retention: "limits",
      discard: "new",
      max_msgs_per_subject: 1,
      max_age: 0,
      num_replicas: 1,
      allow_rollup_hdrs: true,
      allow_direct: true,
      deny_delete: true,
      deny_purge: false,
    });
    const entry = await client.connection.request("$JS.API.DIRECT.GET.KV_made.$KV.made.r/eu=3Apayments");
    expect(entry.string()).toBe("{}");
    await store.close();
  });

  test("several stores may create the bucket at once", async () => {
    const stores = await Promise.all([1, 2, 3, 4].map(() => NatsStore.open(options("at-once"))));
    for (const store of stores) await store.close();
  });

  test("the bucket holds one message per key and one head, however often they are written", async () => {
    const store = await NatsStore.open(options("small"));
    let revision: number | null = null;
    for (let i = 0; i < 50; i++) {
      const [outcome] = await store.compareAndSet([{ key: "r/a", expected: revision, value: `${i}` }]);
      revision = (outcome as { revision: number }).revision;
      await store.sync();
    }
    expect((await client.info("small")).state.messages).toBe(2);
    await store.close();
  });

  test("a bucket that keeps a history works too", async () => {
    await make("history", { max_msgs_per_subject: 5 });
    const store = await NatsStore.open(options("history", { create: false }));
    let revision: number | null = null;
    for (let i = 0; i < 20; i++) {
      const [outcome] = await store.compareAndSet([{ key: "r/a", expected: revision, value: `${i}` }]);
      revision = (outcome as { revision: number }).revision;
    }
    expect([...(await snapshotOf(store)).values()]).toEqual([{ key: "r/a", value: "19", revision }]);
    await store.close();
  });

  test("a bucket may hold messages of others, which are not keys of the store", async () => {
    const store = await NatsStore.open(options("foreign"));
    await client.connection.request("$KV.foreign.=41", "not ours");
    await client.connection.request("$KV.foreign.r/ours", "ours");
    expect([...(await snapshotOf(store)).keys()]).toEqual(["r/ours"]);
    await store.close();
  });

  test.each<[string, object, RegExp]>([
    ["memory", { storage: "memory" }, /memory has storage memory, which a restart empties; must be file/],
    ["age", { max_age: 3_600_000_000_000 }, /has max_age 3600000000000 ns/],
    ["old", { discard: "old" }, /has discard old/],
    ["interest", { retention: "interest" }, /has retention interest/],
    ["silent", { no_ack: true }, /has no_ack set/],
    ["subjects", { subjects: ["$KV.subjects.>", "other.>"] }, /has subjects \$KV\.subjects\.>, other\.>/],
    ["copy", { subjects: [], mirror: { name: "KV_other" }, allow_rollup_hdrs: false }, /has mirror set/],
    ["sourced", { sources: [{ name: "KV_other" }] }, /has sources set/],
  ])(
    "a bucket with unsuitable settings is refused, and the error names the setting (%s)",
    async (bucket, settings, reason) => {
      await make(bucket, settings);
      const error = await refusal(options(bucket));
      expect(error.field).toBe("bucket");
      expect(error.message).toMatch(reason);
    },
  );

  test("a bucket with other replicas than requested is refused, and accepted if none are requested", async () => {
    await make("single", {});
    const error = await refusal(options("single", { replicas: 3 }));
    expect(error.message).toBe("replicas is 3, the bucket single has num_replicas 1; change one of the two");
    await (await NatsStore.open(options("single"))).close();
  });

  test("a bucket cannot have replicas without a cluster", async () => {
    expect((await refusal(options("alone", { replicas: 3 }))).message).toMatch(/^replicas must be 1/);
  });

  test("a missing bucket is refused if it may not be created", async () => {
    const error = await refusal(options("missing", { create: false }));
    expect(error.message).toMatch(/^bucket missing does not exist; make it \(nats kv add missing\)/);
  });

  test("calls of a store whose bucket is removed are refused", async () => {
    const store = await NatsStore.open(options("removed"));
    await client.remove("removed");
    const batch = [{ key: "r/a", expected: null, value: "1" }];
    await expect(store.compareAndSet(batch)).rejects.toThrow(/no server serves the bucket removed/);
    await expect(store.sync()).rejects.toThrow(BackendUnavailableError);
    await store.close();
  });

  test("a bucket that was emptied and recreated is detected, because its revisions went back", async () => {
    const store = await NatsStore.open(options("anew"));
    for (let i = 0; i < 5; i++) await store.sync();
    await client.remove("anew");
    await make("anew", {});
    await expect(store.sync()).rejects.toThrow(
      /revision 1 after 6: it has lost writes, or the stream was replaced/,
    );
    await store.close();
  });
});

test.skipIf(isMissing("nats"))("a server without JetStream is reported as such", async () => {
  const engine = await startNats({ jetStream: false });
  const error = await refusal(parseNatsUrl(engine.url));
  expect(error.message).toMatch(/needs JetStream, which is not enabled on this server/);
  await engine.stop();
});
