/** Errors name what fits: the protocol of the port, the option of this program, the server that has the store open. */
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { certificate } from "./doctor/certificate.test-kit.js";
import { command } from "./frame/command.test-kit.js";
import { Scratch } from "./scratch.test-kit.js";

const scratch = new Scratch();
afterAll(() => scratch.close());
const QUIET = ["--listen", "127.0.0.1:0", "--store", "memory:", "--log-level", "error"];

describe("a server that speaks another protocol", () => {
  it("https to a port without TLS is explained without words of OpenSSL", async () => {
    const { url } = await scratch.serve(QUIET);
    const { host } = new URL(url);
    const { code, stderr } = await command(["leader", "g", "--server", `https://${host}`]);
    expect({ code, stderr }).toEqual({
      code: 4,
      stderr: `tenure: ${host} does not speak TLS; use http://${host}\n`,
    });
  });

  it("http to a port with TLS, and a certificate of an unknown CA, name the next step", async () => {
    const { cert, key } = certificate(scratch.directory(), -1, 90);
    const { url } = await scratch.serve([...QUIET, "--tls-cert", cert, "--tls-key", key]);
    const { host } = new URL(url);
    const plain = await command(["leader", "g", "--server", host]);
    expect(plain).toMatchObject({
      code: 4,
      stderr: `tenure: ${host} accepts only TLS connections; use https://${host}\n`,
    });
    const untrusted = await command(["leader", "g", "--server", url]);
    expect(untrusted.stderr).toBe(
      `tenure: the certificate of ${host} is not trusted (DEPTH_ZERO_SELF_SIGNED_CERT); name its CA with --ca\n`,
    );
    expect((await command(["leader", "g", "--server", url, "--ca", cert])).code).toBe(3);
  });

  it("a server is named without a scheme", async () => {
    const { url } = await scratch.serve(QUIET);
    expect((await command(["leader", "g", "--server", new URL(url).host])).code).toBe(3);
  });
});

it("a store that a server has open suggests --server", async () => {
  const store = `embedded:${scratch.directory()}/data`;
  await scratch.serve(["--listen", "127.0.0.1:0", "--store", store, "--log-level", "error"]);
  const { code, stderr } = await scratch.run(["leader", "g", "--store", store]);
  expect(code).toBe(4);
  expect(stderr).toMatch(/is in use by process \d+; .*use --server with its URL instead of --store\n$/);
  expect(stderr).not.toContain("or --store");
});

describe("an option or a command that this program does not have", () => {
  it.each([
    [["serve", "--bind", "::"], "tenure: unknown option '--bind'\n(Did you mean --listen HOST:PORT?)\n"],
    [["serve", "--port", "80"], "tenure: --port is not an option; use --listen 127.0.0.1:80\n"],
    [["groups", "lst"], "tenure: unknown command 'lst' of tenure groups\n(Did you mean list?)\n"],
    [["verion"], "tenure: unknown command 'verion'\n(Did you mean version?)\n"],
  ])("tenure %j suggests the right one", async (args, text) => {
    expect(await command(args)).toEqual({ code: 2, stdout: "", stderr: text });
  });

  it("a suggestion is part of the message with --json", async () => {
    const { stderr } = await command(["serve", "--bind", "::", "--json"]);
    expect(JSON.parse(stderr)).toMatchObject({
      error: "INVALID_REQUEST",
      message: "unknown option '--bind' (Did you mean --listen HOST:PORT?)",
    });
  });
});

it("tc refuses an http server in its own words, and suggests no store", async () => {
  const out = join(scratch.directory(), "ca");
  await command(["ca", "init", "--dir", out]);
  const { code, stderr } = await command(["tc", "leader", "--bundle", "x"], {
    env: { TENURE_SERVER: "http://127.0.0.1:1" },
  });
  expect(code).toBe(2);
  expect(stderr).toMatch(/^tenure: --server is http:\/\/127\.0\.0\.1:1 and must be https:/);
  expect(stderr).not.toContain("--store");
});

it("a deposed leader is reported by leader and groups, and a paused group says how to resume it", async () => {
  const { url } = await scratch.serve(QUIET);
  const tenure = (...args: readonly string[]) => command([...args, "--server", url]);
  await tenure("campaign", "d", "--node-id", "w1", "--ttl", "60s");
  expect((await tenure("step-down", "d")).stdout).toBe(
    "w1 was asked to step down; d is free when it resigns or its lease expires\n",
  );
  expect((await tenure("leader", "d")).stdout).toMatch(/held back for .*: the leader was asked to step down/);
  expect((await tenure("groups")).stdout).toMatch(/^d +deposed /m);
  await tenure("groups", "create", "p");
  await tenure("pause", "p");
  expect((await tenure("leader", "p")).stdout).toMatch(
    /^paused until resumed, by \S+ since .*: no node can win; end the pause with tenure resume p$/m,
  );
});
