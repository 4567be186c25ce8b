/** A store over a connection that belongs to the program. */
import { connect, type NatsConnection } from "@nats-io/transport-node";
import { storeConformance } from "@tenure/core/conformance";
import { isMissing, type NatsEngine, startNats } from "@tenure/engines";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { NatsStore } from "./nats-store.js";
import { snapshotOf } from "./register-check.test-kit.js";
import { ServerClient, until } from "./server.test-kit.js";

describe.skipIf(isMissing("nats"))("a NATS store over the program's connection", () => {
  let engine: NatsEngine;
  let client: ServerClient;
  let connection: NatsConnection;
  beforeAll(async () => {
    engine = await startNats();
    client = await ServerClient.open(engine.ports);
    connection = await connect({
      servers: `127.0.0.1:${engine.ports[0]}`,
      name: "program",
      pingInterval: 1000,
      maxReconnectAttempts: -1,
      reconnectTimeWait: 50,
    });
  });
  afterAll(async () => {
    await connection?.close();
    await client?.connection.close();
    await engine?.stop();
  });

  const open = (bucket: string) => NatsStore.open({ connection, bucket });

  storeConformance({ test, open, dispose: (space) => client.remove(space) });

  test("closing the store leaves the program's connection open, without subscriptions or consumers of the store", async () => {
    const echo = async () => {
      const subscription = connection.subscribe("echo", { max: 1 });
      connection.publish("echo", "x");
      for await (const message of subscription) return message.string();
      return null;
    };
    const subscriptions = async () => {
      const answer = await fetch(`${engine.monitors[0]}/connz`);
      const { connections } = (await answer.json()) as {
        connections: { name?: string; subscriptions: number }[];
      };
      return connections.find(({ name }) => name === "program")?.subscriptions;
    };
    const before = await subscriptions();
    const store = await open("left");
    await snapshotOf(store);
    await store.close();
    expect(connection.isClosed()).toBe(false);
    expect(await echo()).toBe("x");
    const names = () => client.api<{ consumers: string[] | null }>("CONSUMER.NAMES.KV_left");
    await until(
      "its consumer is gone",
      20_000,
      async () => ((await names()).consumers ?? []).length === 0 || null,
    );
    await until("its subscriptions are gone", 20_000, async () => (await subscriptions()) === before || null);
    await expect(store.sync()).rejects.toMatchObject({ code: "CLOSED" });
  });

  test("calls are refused while the program's connection is lost, and work when it is back", async () => {
    const store = await open("lost");
    const seen: string[] = [];
    store.onStatus((status) => seen.push(status));
    await store.compareAndSet([{ key: "r/a", expected: null, value: "1" }]);
    await engine.nodes[0]?.kill();
    await until("it is noticed", 20_000, () => Promise.resolve(store.status === "disconnected" || null));
    await expect(store.sync()).rejects.toMatchObject({ code: "BACKEND_UNAVAILABLE" });
    await expect(store.sync()).rejects.toThrow("that was given is lost");
    await engine.nodes[0]?.start();
    await until("it is back", 20_000, () => Promise.resolve(store.status === "connected" || null));
    await until("it answers", 20_000, () => store.sync().catch(() => null));
    expect((await snapshotOf(store)).get("r/a")?.value).toBe("1");
    expect(seen).toEqual(["disconnected", "connected"]);
    await store.close();
  });

  test("a connection that the program has closed is refused, and ends a store that uses it", async () => {
    const other = await connect({ servers: `127.0.0.1:${engine.ports[0]}` });
    const store = await NatsStore.open({ connection: other, bucket: "gone" });
    await other.close();
    await until("it is noticed", 20_000, () => Promise.resolve(store.status === "disconnected" || null));
    await expect(store.sync()).rejects.toThrow("is closed; open a store with another");
    await store.close();
    await expect(NatsStore.open({ connection: other, bucket: "gone" })).rejects.toMatchObject({
      code: "INVALID_REQUEST",
      field: "connection",
    });
  });
});

test.each<[string, object]>([
  ["connection", { connection: {} }],
  ["connection", { connection: null }],
  ["connection", { connection: "nats://a" }],
])("the option %s is refused if it is not a NATS connection", async (field, options) => {
  await expect(NatsStore.open({ bucket: "b", ...options })).rejects.toMatchObject({ field });
});

test.each(["servers", "user", "token", "tls"])(
  "the option %s together with a connection is refused",
  async (name) => {
    const f = (): never => {
      throw new Error("used");
    };
    const connection = { publish: f, subscribe: f, status: f, closed: f, isClosed: f };
    const given = { servers: ["a"], user: "u", token: "t", tls: true }[name];
    const options = { connection, bucket: "b", [name]: given };
    await expect(NatsStore.open(options)).rejects.toThrow(
      "must not be given together with `connection`; remove it",
    );
  },
);
