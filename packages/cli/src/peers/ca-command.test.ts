/** `tenure ca` and `tenure serve --bundle`, as an operator uses them. */
import { X509Certificate } from "node:crypto";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "@tenure/core";
import { Authority, parseBundle } from "@tenure/peers/certificates";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { until } from "../engines/until.test-kit.js";
import { command, jsonOf } from "../frame/command.test-kit.js";
import { probe } from "../frame/http-probe.js";
import { Scratch } from "../scratch.test-kit.js";

let scratch: Scratch;
let directory: string;
beforeEach(() => {
  scratch = new Scratch();
  directory = scratch.directory();
});
afterEach(() => scratch.close());

const at = (name: string): string => join(directory, name);
const init = (...args: readonly string[]) => command(["ca", "init", "--out", at("ca.pem"), ...args]);
const issue = (kind: string, name: string, ...args: readonly string[]) =>
  command(["ca", "issue", kind, name, "--ca", at("ca.pem"), "--out", at(`${name}.pem`), ...args]);

/** A bundle as three files. */
function files(name: string): { certFile: string; keyFile: string; caFile: string } {
  const bundle = parseBundle(readFileSync(at(`${name}.pem`), "utf8"), name);
  for (const part of ["key", "cert", "ca"] as const) writeFileSync(at(`${name}.${part}`), bundle[part]);
  return { certFile: at(`${name}.cert`), keyFile: at(`${name}.key`), caFile: at(`${name}.ca`) };
}

describe.each(["p256", "ed25519"])("certificates with keys of %s", (type) => {
  it("certificate bundles are private files that name their owner, with the same authority in each", async () => {
    expect((await init("--key-type", type, "--trust-domain", "lockd")).code).toBe(0);
    expect(jsonOf(await issue("sdk", "worker-1", "--json"))).toMatchObject({
      out: at("worker-1.pem"),
      uri: "spiffe://lockd/sdk/worker-1",
    });
    const { uri } = jsonOf<{ uri: string }>(await issue("server", "node-1", "--json"));
    expect(uri).toMatch(/^spiffe:\/\/lockd\/server\/[0-9a-f-]{36}$/);
    for (const file of ["ca.pem", "worker-1.pem", "node-1.pem"])
      expect(statSync(at(file)).mode & 0o777).toBe(0o600);
    const [worker, node] = ["worker-1.pem", "node-1.pem"].map((file) =>
      parseBundle(readFileSync(at(file), "utf8"), file),
    );
    expect(worker?.ca).toBe(node?.ca);
    const certificate = new X509Certificate(node?.cert ?? "");
    expect(certificate.verify(new X509Certificate(node?.ca ?? "").publicKey)).toBe(true);
    // Both sides of a connection between servers.
    expect(certificate.keyUsage).toEqual(["1.3.6.1.5.5.7.3.2", "1.3.6.1.5.5.7.3.1"]);
  });

  it("certificate bundles serve HTTPS that identifies callers by their certificates", async () => {
    await init("--key-type", type);
    for (const [kind, name] of [
      ["server", "node"],
      ["sdk", "worker"],
      ["tc", "clerk"],
    ] as const)
      await issue(kind, name);
    const server = await scratch.serve([
      "--listen",
      "127.0.0.1:0",
      "--store",
      "memory:",
      "--bundle",
      at("node.pem"),
    ]);
    expect(server.url).toMatch(/^https:/);
    const campaign = { method: "POST", body: { node_id: "worker", lease_ttl_ms: 5000 } } as const;
    const url = `${server.url}/v1/groups/g/campaign`;
    expect((await probe(url, { ...campaign, ...files("worker") })).status).toBe(200);
    expect((await probe(url, { ...campaign, ...files("clerk") })).status).toBe(401);
    // The bundle itself can be used wherever a command needs a file.
    const bundle = ["--ca", at("worker.pem"), "--cert", at("worker.pem"), "--key", at("worker.pem")];
    const again = await command(["campaign", "h", "--node-id", "worker", "--server", server.url, ...bundle]);
    expect([again.code, again.stderr]).toEqual([0, ""]);
    const { caFile } = files("worker");
    expect((await probe(url, { ...campaign, caFile })).status).toBe(401);
  });
});

describe("tenure ca", () => {
  it("tenure ca keeps a server's node id when its bundle is issued again, and makes another for another file", async () => {
    await init();
    const first = jsonOf<{ uri: string }>(await issue("server", "node", "--json"));
    const key = parseBundle(readFileSync(at("node.pem"), "utf8"), "node").key;
    expect(jsonOf<{ uri: string }>(await issue("server", "node", "--json")).uri).toBe(first.uri);
    expect(parseBundle(readFileSync(at("node.pem"), "utf8"), "node").key).not.toBe(key);
    expect(jsonOf<{ uri: string }>(await issue("server", "other", "--json")).uri).not.toBe(first.uri);
  });

  it("tenure ca never overwrites an authority", async () => {
    await init();
    const before = readFileSync(at("ca.pem"), "utf8");
    const again = await init();
    expect(again.code).toBe(2);
    expect(again.stderr).toContain("Move the file away first");
    expect(readFileSync(at("ca.pem"), "utf8")).toBe(before);
  });

  it("tenure ca overwrites only a bundle of the same kind: no authority, no other bundle, no other file", async () => {
    await init();
    await issue("server", "node");
    writeFileSync(at("notes.pem"), "remember the milk\n");
    for (const [file, why] of [
      ["ca.pem", "is not a bundle"],
      ["notes.pem", "is not a bundle"],
      ["node.pem", "is a bundle of kind server"],
    ] as const) {
      const before = readFileSync(at(file), "utf8");
      const { code, stderr } = await command([
        "ca",
        "issue",
        "tc",
        "x",
        "--ca",
        at("ca.pem"),
        "--out",
        at(file),
      ]);
      expect([code, stderr.split("\n").length]).toEqual([2, 2]);
      expect(stderr).toContain(why);
      expect(readFileSync(at(file), "utf8")).toBe(before);
    }
  });

  it.each([
    ["an authority", "ca.pem", ["ca", "issue", "tc", "x", "--ca"]],
    ["a bundle", "node.pem", ["tc", "leader", "--bundle"]],
  ])(
    "a damaged file of %s is reported in one sentence, whichever part is damaged",
    async (_case, file, args) => {
      await init();
      await issue("server", "node");
      const text = readFileSync(at(file), "utf8");
      for (const part of ["PRIVATE KEY", "CERTIFICATE"]) {
        const damaged = text.replace(
          new RegExp(`(-----BEGIN ${part}-----\n).{20}`),
          "$1AAAAAAAAAAAAAAAAAAAA",
        );
        writeFileSync(at("damaged.pem"), damaged);
        const out = args[0] === "ca" ? ["--out", at("new.pem")] : [];
        const { code, stderr } = await command([...args, at("damaged.pem"), ...out]);
        expect([part, code, stderr.split("\n").length]).toEqual([part, 2, 2]);
        expect(stderr).toMatch(/damaged\.pem holds a (key|certificate) that cannot be read/);
      }
    },
  );

  it.each([
    ["a kind that does not exist", ["issue", "robot", "x", "--out", "x.pem"]],
    ["a missing authority", ["issue", "tc", "x", "--ca", "missing.pem", "--out", "x.pem"]],
    ["a name with .. in it", ["issue", "tc", "a/../b", "--out", "x.pem"]],
    ["zero days", ["init", "--days", "0"]],
    ["a trust domain that no URI can hold", ["init", "--trust-domain", "Äpfel"]],
  ])("tenure ca refuses %s in one sentence", async (_case, args) => {
    await init();
    const placed = args.map((each) => (each.endsWith(".pem") ? at(each) : each));
    const all = args.includes("--ca") || args[0] === "init" ? placed : [...placed, "--ca", at("ca.pem")];
    const { code, stderr } = await command([
      "ca",
      ...all,
      ...(args[0] === "init" ? ["--out", at("new.pem")] : []),
    ]);
    expect(code).toBe(2);
    expect(stderr.split("\n")).toHaveLength(2);
  });
});

describe("tenure serve --bundle", () => {
  it("tenure serve uses a bundle that is issued again, without a restart", async () => {
    await init();
    await issue("server", "node");
    const server = await scratch.serve([
      "--listen",
      "127.0.0.1:0",
      "--store",
      "memory:",
      "--bundle",
      at("node.pem"),
    ]);
    const serial = async () =>
      (await probe(`${server.url}/healthz`, files("node"))).certificate?.serialNumber;
    const first = await serial();
    await issue("server", "node");
    await until(10_000, "the new certificate is shown", async () => (await serial()) !== first);
  });

  it.each([
    ["besides --tls-cert", "cannot be combined with"],
    ["without an authority", "contains no certificate of an authority"],
  ])("--bundle is refused %s", async (how, sentence) => {
    await init();
    await issue("server", "node");
    const bundle = parseBundle(readFileSync(at("node.pem"), "utf8"), "node");
    if (how === "without an authority") writeFileSync(at("node.pem"), `${bundle.key}\n${bundle.cert}\n`);
    const extra = how === "without an authority" ? [] : ["--tls-cert", at("node.pem")];
    const args = [
      "serve",
      "--listen",
      "127.0.0.1:0",
      "--store",
      "memory:",
      "--bundle",
      at("node.pem"),
      ...extra,
    ];
    const { code, stderr } = await scratch.run(args);
    expect(code).toBe(2);
    expect(stderr).toContain(sentence);
  });

  it("a client refuses the handshake of a server with an expired bundle", async () => {
    const authority = await Authority.create({
      trustDomain: "tenure",
      keyKind: "p256",
      days: 900,
      nowMs: systemClock.wallMs(),
    });
    writeFileSync(at("ca.pem"), await authority.pem());
    const longAgo = systemClock.wallMs() - 400 * 86_400_000;
    writeFileSync(
      at("node.pem"),
      await authority.issue({ kind: "server", name: "node", hosts: ["127.0.0.1"], days: 1, nowMs: longAgo }),
    );
    const server = await scratch.serve([
      "--listen",
      "127.0.0.1:0",
      "--store",
      "memory:",
      "--bundle",
      at("node.pem"),
    ]);
    await expect(probe(`${server.url}/healthz`, files("node"))).rejects.toMatchObject({
      code: "CERT_HAS_EXPIRED",
    });
  });
});
