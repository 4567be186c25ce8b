import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { systemClock } from "@tenure/core";
import { VirtualClock } from "@tenure/core/testing";
import { Authority, parseBundle } from "@tenure/peers/certificates";
import { afterEach, expect, it } from "vitest";
import type { Shell } from "../frame/shell.js";
import { Scratch } from "../scratch.test-kit.js";
import { TcClient } from "./tc-client.js";

const scratch = new Scratch();
afterEach(() => scratch.close());

it("a server that accepts the connection and hangs leaves time for the next in the list", async () => {
  const nowMs = systemClock.wallMs();
  const authority = await Authority.create({ trustDomain: "tenure", keyKind: "p256", days: 9, nowMs });
  const issue = { name: "n", hosts: [], days: 9, nowMs };
  const bundleFile = join(scratch.directory(), "operator.pem");
  writeFileSync(bundleFile, await authority.issue({ ...issue, kind: "tc" }), { mode: 0o600 });
  const { key, cert, ca } = parseBundle(
    await authority.issue({ ...issue, kind: "server", nodeId: "n2" }),
    "n2",
  );
  const open = new Set<Socket>();
  const hanging = createServer((socket) => void open.add(socket)).listen(0, "127.0.0.1");
  const answers = createTlsServer({ key, cert, ca }, (_, response) => void response.end("{}"));
  answers.listen(0, "127.0.0.1");
  await Promise.all([hanging, answers].map((each) => once(each, "listening")));
  try {
    const clock = new VirtualClock();
    const at = (server: { address(): unknown }): string =>
      `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const shell = { env: {}, clock, signal: new AbortController().signal } as unknown as Shell;
    const flags = { server: `${at(hanging)},${at(answers)}`, bundle: bundleFile };
    const asked = new TcClient(shell, flags).ask("GET", "/v1/tc/leader");
    await once(hanging, "connection");
    await clock.advance(10_000);
    expect(await asked).toMatchObject({ status: 200, identity: "n2" });
  } finally {
    for (const socket of open) socket.destroy();
    hanging.close();
    answers.closeAllConnections();
    answers.close();
  }
});
