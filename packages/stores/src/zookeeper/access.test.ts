import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BackendUnavailableError, InvalidRequestError } from "@tenure/core";
import { freePorts, isMissing, startZookeeper, type ZookeeperEngine } from "@tenure/engines";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openStore } from "../open-store.js";
import { snapshotOf, swapped } from "./faults.test-kit.js";

describe.skipIf(isMissing("zookeeper"))("access to ZooKeeper", () => {
  let engine: ZookeeperEngine;
  let directory = "";
  let securePort = 0;
  const file = (name: string) => join(directory, name);

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), "tenure-zookeeper-tls-"));
    for (const name of ["server", "client"]) certify(name);
    writeFileSync(
      file("both.pem"),
      readFileSync(file("server.key"), "utf8") + readFileSync(file("server.pem"), "utf8"),
    );
    securePort = (await freePorts(1))[0]!;
    engine = await startZookeeper({
      settings: {
        serverCnxnFactory: "org.apache.zookeeper.server.NettyServerCnxnFactory",
        secureClientPort: String(securePort),
        "ssl.keyStore.location": file("both.pem"),
        "ssl.trustStore.location": file("client.pem"),
        "ssl.clientAuth": "need",
      },
    });
  });
  afterAll(async () => {
    await engine.stop();
    rmSync(directory, { recursive: true });
  });

  const certify = (name: string) => {
    const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-days", "2"];
    const files = ["-keyout", file(`${name}.key`), "-out", file(`${name}.pem`)];
    execFileSync("openssl", ["req", "-x509", "-nodes", "-newkey", "rsa:2048", ...subject, ...files], {
      stdio: "pipe",
    });
  };
  const as = (user: string, path: string) => openStore(engine.url.replace("//", `//${user}@`) + path);

  test("nodes that a ZooKeeper user creates are open to that user only", async () => {
    const path = "/guarded/space";
    const store = await as("ann:first-secret", path);
    await swapped(store, "r/a", null, "1");
    const again = await as("ann:first-secret", path);
    expect((await snapshotOf(again)).get("r/a")?.value).toBe("1");
    const strangers = [openStore(engine.url + path), as("ann:wrong-secret", path), as("bob:secret", path)];
    for (const { reason: error } of (await Promise.allSettled(strangers)) as PromiseRejectedResult[]) {
      expect(error).toBeInstanceOf(InvalidRequestError);
      expect(String(error)).toMatch(/refused to read \/guarded\/space: the user has no permission/);
      expect(String(error)).not.toContain("secret");
    }
    // No other user may create a node below ann's.
    await expect(openStore(`${engine.url}/guarded/mine`)).rejects.toThrow(
      /refused to create \/guarded\/mine: the user has no permission/,
    );
    await store.close();
    await again.close();
  });

  const overTls = (files: Record<string, string>) => {
    const query = new URLSearchParams({ tls: "true", ...files }).toString();
    return openStore(`zookeeper://localhost:${securePort}/secure?${query}`);
  };

  test("ZooKeeper works over TLS with a certificate on both sides", async () => {
    const own = { cert: file("client.pem"), key: file("client.key") };
    const store = await overTls({ ca: file("server.pem"), ...own });
    const revision = await swapped(store, "r/a", null, "1");
    expect(await store.sync()).toBeGreaterThan(revision);
    expect((await snapshotOf(store)).get("r/a")?.revision).toBe(revision);
    await store.close();
    await expect(overTls(own)).rejects.toThrow(/self-signed certificate/);
  });

  test("a ZooKeeper client that is not trusted, or does not use TLS, is refused", async () => {
    await expect(overTls({ ca: file("server.pem") })).rejects.toThrow(BackendUnavailableError);
    await expect(overTls({ ca: file("nowhere.pem") })).rejects.toMatchObject({ field: "tls.ca" });
    const plain = openStore(`zookeeper://localhost:${securePort}/secure`);
    await expect(plain).rejects.toThrow(BackendUnavailableError);
  });
});
