import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { Agent, createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TLSSocket } from "node:tls";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { nodeToLeader } from "./to-leader.js";
import { ask, cleanUp, later, leading, listening } from "./to-leader.test-kit.js";

afterEach(cleanUp);

describe("forwarding to a leader over TLS", () => {
  let directory = "";
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), "tenure-to-leader-"));
    const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", "key.pem"];
    const name = ["-subj", "/CN=leader", "-addext", "subjectAltName=DNS:localhost", "-days", "2"];
    execFileSync("openssl", ["req", "-x509", ...key, "-out", "cert.pem", ...name], {
      cwd: directory,
      stdio: "pipe",
    });
  });
  afterAll(() => rmSync(directory, { recursive: true }));
  const pem = (name: string) => readFileSync(join(directory, `${name}.pem`), "utf8");

  /** Returns the requested names, of the handshake and of the request. */
  async function tlsLeader(): Promise<string> {
    const server = createTlsServer({ key: pem("key"), cert: pem("cert") }, (request, response) => {
      response.end(`${String((request.socket as TLSSocket).servername)} ${request.headers.host}`);
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    later(() => {
      server.closeAllConnections();
      server.close();
    });
    return `https://localhost:${(server.address() as AddressInfo).port}`;
  }

  async function node(address: string, agent?: Agent): Promise<string> {
    const toLeader = nodeToLeader({ observer: leading(address), agent });
    return listening(
      createServer((request, response) => {
        void toLeader(request, response);
      }),
    );
  }

  test("the leader's certificate is checked against its own name, whatever Host the request has", async () => {
    const address = await node(await tlsLeader(), new Agent({ ca: pem("cert") }));
    const answer = await ask(address, { headers: { host: "jobs.example" } });
    expect([answer.status, answer.body]).toEqual([200, "localhost jobs.example"]);
  });

  test("a leader with a self-signed certificate gets no request", async () => {
    const answer = await ask(await node(await tlsLeader()));
    expect([answer.status, answer.body]).toEqual([503, expect.stringContaining("LEADER_UNREACHABLE")]);
  });
});
