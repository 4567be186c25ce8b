import { execFileSync } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BackendUnavailableError, InvalidRequestError } from "@tenure/core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { StoreState } from "./deferred-store.js";
import { openStore } from "./open-store.js";

let root = "";
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "tenure-open-"));
});
afterAll(() => rm(root, { recursive: true, force: true }));

test("memory: opens a separate store each time", async () => {
  const [first, second] = [await openStore("memory:"), await openStore("MEMORY:")];
  await first.compareAndSet([{ key: "r/a", expected: null, value: "1" }]);
  expect([first.name, await first.sync(), await second.sync()]).toEqual(["memory", 1, 0]);
  await Promise.all([first.close(), second.close()]);
});

test("embedded:DIR opens the store in that directory, by whatever spelling", async () => {
  for (const [revision, url] of [`embedded:${root}/data`, `embedded://${root}/data`].entries()) {
    const store = await openStore(url);
    expect([store.name, await store.sync()]).toEqual(["embedded", revision]);
    await store.compareAndSet([{ key: `r/${revision}`, expected: null, value: "1" }]);
    await store.close();
  }
});

test.each([
  "",
  "tenure-data",
  "redis://localhost",
  "constructor:",
  "memory",
  ":memory:",
  "memory:x",
  "embedded:",
])("the store URL %j is refused, and the error names the field", async (url) => {
  const error: unknown = await openStore(url).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(InvalidRequestError);
  expect((error as InvalidRequestError).field).toBe("store");
});

test("an unknown scheme is refused with the list of known ones", async () => {
  await expect(openStore("redis://localhost")).rejects.toThrow(/memory: or embedded:/);
});

test("an engine's library is loaded only when it is needed", () => {
  const module = new URL("../dist/index.js", import.meta.url).href;
  const script = `
    const { openStore } = await import(${JSON.stringify(module)});
    await (await openStore("memory:")).close();
    process.stdout.write(String(process.report.getReport().sharedObjects.some((file) => file.includes("lmdb"))));`;
  expect(execFileSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" })).toBe(
    "false",
  );
});

/** Accepts connections and sends nothing, like a machine that hangs. */
async function openSilentServer(): Promise<{ port: number; sockets: Set<Socket>; accepted: EventEmitter }> {
  const sockets = new Set<Socket>();
  const accepted = new EventEmitter();
  const server = createServer((socket) => {
    sockets.add(socket.resume().on("error", () => {}));
    socket.once("close", () => {
      sockets.delete(socket);
      accepted.emit("left");
    });
    accepted.emit("came");
  });
  servers.push(server.listen(0, "127.0.0.1"));
  await once(server, "listening");
  return { port: (server.address() as AddressInfo).port, sockets, accepted };
}

const servers: Server[] = [];
afterAll(() => {
  for (const server of servers) server.close();
});

describe("an engine that hangs when the store is opened", () => {
  test.each(["etcd", "nats", "postgres", "zookeeper"])(
    "%s: a store whose engine hangs waits, knows its name and limits, and leaves no connection when closed",
    async (scheme) => {
      const { port, sockets, accepted } = await openSilentServer();
      const url = `${scheme}://someone:secret@127.0.0.1:${port}/space`;
      await expect(openStore(url)).rejects.toThrow(BackendUnavailableError);
      const states: StoreState[] = [];
      const onState = (state: StoreState) => states.push(state);
      const store = await openStore(url, { ifUnreachable: "wait", onState });
      expect(store.name).toBe(scheme);
      expect(store.limits.batchOps).toBeGreaterThan(100);
      expect(states).toMatchObject([{ kind: "unreachable", isRefused: false }]);
      expect(String((states[0] as { reason: unknown }).reason)).not.toContain("secret");
      await expect(store.sync()).rejects.toThrow(BackendUnavailableError);
      // In the middle of the next attempt.
      if (sockets.size === 0) await once(accepted, "came");
      await store.close();
      while (sockets.size > 0) await once(accepted, "left");
      expect(states).toHaveLength(1);
    },
  );
});
