import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BackendUnavailableError, InvalidRequestError, type Store } from "@tenure/core";
import { type EtcdEngine, isMissing, startEtcd } from "@tenure/engines";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openStore } from "../open-store.js";
import { entriesOf, Follower, swapInTheEnd } from "./etcd.test-kit.js";
import { EtcdStore } from "./etcd-store.js";
import type { TlsFiles } from "../tls-files.js";

const directory = mkdtempSync(join(tmpdir(), "tenure-etcd-tls-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const file = (name: string): string => join(directory, name);

function openssl(...args: string[]): void {
  execFileSync("openssl", args, { cwd: directory, stdio: "pipe" });
}

const EC = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];

/** A certificate authority. */
function makeAuthority(name: string): void {
  openssl(
    "req",
    "-x509",
    ...EC,
    "-keyout",
    `${name}.key`,
    "-out",
    `${name}.pem`,
    "-days",
    "2",
    "-subj",
    `/CN=${name}`,
  );
}

/** A certificate of this authority, for servers and clients. */
function makeCertificate(name: string, authority: string): void {
  writeFileSync(file("extensions"), "subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth,clientAuth\n");
  openssl("req", "-new", ...EC, "-keyout", `${name}.key`, "-out", `${name}.csr`, "-subj", `/CN=${name}`);
  const signed = ["-in", `${name}.csr`, "-out", `${name}.pem`, "-days", "2", "-extfile", "extensions"];
  openssl(
    "x509",
    "-req",
    ...signed,
    "-CA",
    `${authority}.pem`,
    "-CAkey",
    `${authority}.key`,
    "-CAcreateserial",
  );
}

describe.skipIf(isMissing("etcd"))("an etcd with TLS and client certificates", () => {
  let engine: EtcdEngine;
  beforeAll(async () => {
    for (const authority of ["authority", "stranger"]) makeAuthority(authority);
    makeCertificate("server", "authority");
    makeCertificate("client", "authority");
    makeCertificate("intruder", "stranger");
    const tls = { cert: file("server.pem"), key: file("server.key"), clientCa: file("authority.pem") };
    engine = await startEtcd({ nodes: 3, tls });
  });
  afterAll(() => engine.stop());

  test("etcd serves a store that shows its certificate, named by URL", async () => {
    const files = `ca=${file("authority.pem")}&cert=${file("client.pem")}&key=${file("client.key")}`;
    const store = await openStore(`${engine.url}/space?tls=true&${files}`);
    const follower = new Follower(store);
    const revision = await swapInTheEnd(store, { key: "r/a", expected: null, value: "1" });
    await follower.reach(revision);
    expect((await entriesOf(store)).get("r/a")?.value).toBe("1");
    await follower.stop();
    await store.close();
  });

  test.each([
    ["without TLS", {}],
    ["without a certificate", { ca: "authority.pem" }],
    [
      "with a certificate of another authority",
      { ca: "authority.pem", cert: "intruder.pem", key: "intruder.key" },
    ],
    ["that trusts only another authority", { ca: "stranger.pem", cert: "client.pem", key: "client.key" }],
  ])("etcd does not serve a store %s", async (_, files: TlsFiles) => {
    const paths = Object.fromEntries(
      Object.entries<string>({ ...files }).map(([name, path]) => [name, file(path)]),
    );
    const tls = Object.keys(paths).length === 0 ? false : paths;
    await expect(EtcdStore.open({ servers: engine.endpoints, tls })).rejects.toThrow(BackendUnavailableError);
  });

  test("unusable TLS files are refused by name", async () => {
    const open = (tls: TlsFiles): Promise<Store> => EtcdStore.open({ servers: engine.endpoints, tls });
    const missing = open({ ca: file("none.pem") });
    await expect(missing).rejects.toThrow(InvalidRequestError);
    await expect(missing).rejects.toThrow(/^tls\.ca names the file .*none\.pem, which cannot be read/);
    writeFileSync(file("garbage.pem"), "garbage");
    const garbage = open({ ca: file("authority.pem"), cert: file("garbage.pem"), key: file("client.key") });
    await expect(garbage).rejects.toThrow(InvalidRequestError);
    const mismatched = open({ ca: file("authority.pem"), cert: file("client.pem"), key: file("server.key") });
    await expect(mismatched).rejects.toThrow(/^tls has files/);
  });
});
