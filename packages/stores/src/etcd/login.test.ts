import { randomUUID } from "node:crypto";
import { BackendUnavailableError, InvalidRequestError } from "@tenure/core";
import { type EngineProcess, type EtcdEngine, isMissing, startEtcd } from "@tenure/engines";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openStore } from "../open-store.js";
import { askGateway, base64, entriesOf, Follower, swap, swapInTheEnd, until } from "./etcd.test-kit.js";
import { EtcdStore } from "./etcd-store.js";

describe.skipIf(isMissing("etcd"))("an etcd that requires authentication", () => {
  const prefix = randomUUID();
  const login = { user: "tenure", password: "s3cret/pass" };
  let engine: EtcdEngine;
  let endpoint = "";
  let headers: Readonly<Record<string, string>> = {};

  const ask = (path: string, body: object): Promise<unknown> => askGateway(endpoint, path, body, headers);
  const permission = { key: base64(`${prefix}/`), range_end: base64(`${prefix}0`) };
  const grant = (): Promise<unknown> =>
    ask("auth/role/grant", { name: "tenure", perm: { permType: "READWRITE", ...permission } });

  beforeAll(async () => {
    engine = await startEtcd();
    [endpoint = ""] = engine.endpoints;
    await ask("auth/user/add", { name: "root", password: "root" });
    await ask("auth/user/add", { name: login.user, password: login.password });
    await ask("auth/user/add", { name: "stranger", password: "stranger" });
    await ask("auth/role/add", { name: "root" });
    await ask("auth/role/add", { name: "tenure" });
    await grant();
    await ask("auth/user/grant", { user: "root", role: "root" });
    await ask("auth/user/grant", { user: login.user, role: "tenure" });
    await ask("auth/enable", {});
    headers = await rootHeaders();
  });
  afterAll(() => engine.stop());

  async function rootHeaders(): Promise<Record<string, string>> {
    const { token } = await askGateway<{ token: string }>(endpoint, "auth/authenticate", {
      name: "root",
      password: "root",
    });
    return { authorization: token };
  }

  test("user and password are sent to etcd, from options or from the URL", async () => {
    const store = await EtcdStore.open({ servers: [endpoint], prefix, ...login });
    await swapInTheEnd(store, { key: "r/a", expected: null, value: "1" });
    const again = await openStore(`etcd://tenure:s3cret%2Fpass@${endpoint}/${prefix}`);
    expect((await entriesOf(again)).get("r/a")?.value).toBe("1");
    await again.close();
    await store.close();
  });

  test.each([
    ["a wrong password", { user: "tenure", password: "wrong" }],
    ["an unknown user", { user: "nobody", password: "wrong" }],
    ["a missing user", {}],
    ["a user without a right to the prefix", { user: "stranger", password: "stranger" }],
  ])("etcd refuses %s when the store is opened", async (_, wrong) => {
    const opening = EtcdStore.open({ servers: [endpoint], prefix, ...wrong });
    await expect(opening).rejects.toThrow(InvalidRequestError);
    await expect(opening).rejects.toThrow(/^user is refused by etcd/);
    await expect(opening).rejects.not.toThrow(/wrong/);
  });

  test("a token that etcd drops, or a change of roles, is followed by a new login, and no write fails", async () => {
    const store = await EtcdStore.open({ servers: [endpoint], prefix, ...login });
    const follower = new Follower(store);
    await until("the feed is open", () => follower.progress > 0);
    let expected = await swapInTheEnd(store, { key: "r/b", expected: null, value: "1" });
    for (let i = 0; i < 3; i++) {
      // A change of any role invalidates every token.
      await ask("auth/role/add", { name: `role-${i}` });
      const outcome = await swap(store, { key: "r/b", expected, value: `${i}` });
      expect(outcome.kind).toBe("swapped");
      if (outcome.kind === "swapped") expected = outcome.revision;
      await follower.reach(expected);
    }
    expect(follower.endings).toEqual([]);
    const [node] = engine.nodes as [EngineProcess];
    await node.kill();
    await node.start();
    headers = await rootHeaders();
    const revision = await swapInTheEnd(store, { key: "r/b", expected, value: "after" });
    await follower.reach(revision);
    expect(follower.seen).toEqual(await entriesOf(store));
    await follower.stop();
    await store.close();
  });

  test("etcd that withdraws a right refuses writes, and nothing is written", async () => {
    const store = await EtcdStore.open({ servers: [endpoint], prefix, ...login });
    await ask("auth/role/revoke", { role: "tenure", ...permission });
    await expect(store.compareAndSet([{ key: "r/c", expected: null, value: "1" }])).rejects.toThrow(
      /permission denied/,
    );
    await expect(store.sync()).rejects.toThrow(BackendUnavailableError);
    await grant();
    await swapInTheEnd(store, { key: "r/c", expected: null, value: "2" });
    expect((await entriesOf(store)).get("r/c")?.value).toBe("2");
    await store.close();
  });
});
