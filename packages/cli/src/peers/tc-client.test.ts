import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { systemClock } from "@tenure/core";
import { VirtualClock } from "@tenure/core/testing";
import { Authority, parseBundle } from "@tenure/peers/certificates";
import { afterEach, expect, it } from "vitest";
import type { Shell } from "../frame/shell.js";
import { Scratch } from "../scratch.test-kit.js";
import { TcClient } from "./tc-client.js";

const scratch = new Scratch();
const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
  return scratch.close();
});

const at = (server: Server): string => `https://127.0.0.1:${(server.address() as AddressInfo).port}`;

/** Accepts connections and never answers. */
async function hangingServer(): Promise<Server> {
  const open = new Set<Socket>();
  const server = createServer((socket) => void open.add(socket)).listen(0, "127.0.0.1");
  closing.push(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  await once(server, "listening");
  return server;
}

async function answeringServer(bundle: string): Promise<Server> {
  const { key, cert, ca } = parseBundle(bundle, "n2");
  const server = createTlsServer({ key, cert, ca }, (_, response) => void response.end("{}"));
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return server;
}

it("each of several servers has its own timeout, so one that hangs leaves time for the next", async () => {
  const nowMs = systemClock.wallMs();
  const authority = await Authority.create({ trustDomain: "tenure", keyKind: "p256", days: 9, nowMs });
  const issue = { name: "n", hosts: [], days: 9, nowMs };
  const bundleFile = join(scratch.directory(), "operator.pem");
  writeFileSync(bundleFile, await authority.issue({ ...issue, kind: "tc" }), { mode: 0o600 });
  const answers = await answeringServer(await authority.issue({ ...issue, kind: "server", nodeId: "n2" }));
  const [first, second] = [await hangingServer(), await hangingServer()];
  const clock = new VirtualClock();
  const shell = { env: {}, clock, signal: new AbortController().signal } as unknown as Shell;
  const ask = async (servers: readonly Server[]) => {
    const flags = { server: servers.map(at).join(), bundle: bundleFile };
    return new TcClient(shell, flags).ask("GET", "/v1/tc/leader");
  };

  // Two servers that hang are each abandoned after their own 10 s. Nothing here would be delayed by a shared limit.
  let ended: { readonly atMs: number; readonly message: string } | null = null;
  void ask([first, second]).catch((cause: unknown) => {
    ended = { atMs: clock.monotonicMs(), message: (cause as Error).message };
  });
  await once(first, "connection");
  await clock.advance(60_000);
  expect(ended).toEqual({
    atMs: 20_000,
    message: `no server responded (${at(first)}: no answer within 10000 ms; ${at(second)}: no answer within 10000 ms)`,
  });

  // So the answer of a working server comes after the timeout of the one before it.
  const asked = ask([first, answers]);
  await once(first, "connection");
  await clock.advance(10_000);
  expect(await asked).toMatchObject({ status: 200, identity: "n2" });
});
