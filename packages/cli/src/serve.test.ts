/** `tenure serve` as its user sees it: the ready line, and one sentence for each problem. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Api, termWon } from "./api.test-kit.js";
import { command } from "./frame/command.test-kit.js";
import { type Ended, Scratch } from "./scratch.test-kit.js";

const ANY_PORT = ["--listen", "127.0.0.1:0"];

let scratch: Scratch;
let directory: string;
beforeEach(() => {
  scratch = new Scratch();
  directory = scratch.directory();
});
afterEach(() => scratch.close());

describe("the options of tenure serve", () => {
  it("the ready line of serve names the address and the store, and the service answers there", async () => {
    const server = await scratch.serve([...ANY_PORT, "--store", `embedded:${join(directory, "data")}`]);
    expect(server.readyLine).toBe(`tenure listening on http://127.0.0.1:${server.port} (store: embedded)`);
    const api = new Api(server.port);
    expect((await api.get("/readyz")).status).toBe(200);
    api.close();
    expect(await server.end("SIGTERM")).toBe(0);
  });

  it("serve takes options from the environment", async () => {
    const server = await scratch.serve([], { TENURE_LISTEN: "127.0.0.1:0", TENURE_STORE: "memory:" });
    expect(server.readyLine).toBe(`tenure listening on http://127.0.0.1:${server.port} (store: memory)`);
    expect(await server.end("SIGINT")).toBe(0);
  });

  it("the command line of serve overrides the environment, and switches of the environment work", async () => {
    const environment = { TENURE_LISTEN: "nowhere", TENURE_STORE: "memory:", TENURE_EXPLICIT_GROUPS: "true" };
    const server = await scratch.serve(ANY_PORT, environment);
    const api = new Api(server.port);
    const answer = await api.leader("never-created");
    expect(answer).toMatchObject({ status: 404, body: { error: "GROUP_NOT_FOUND" } });
    api.close();
  });

  it("serve without a store uses the directory ./tenure-data", async () => {
    const server = await scratch.serve(ANY_PORT);
    const api = new Api(server.port);
    expect(termWon(await api.campaign("g", "a", 5000))).toBe(1);
    api.close();
    expect(await server.end("SIGTERM")).toBe(0);
    const again = await scratch.serve([...ANY_PORT, "--store", `embedded:${join(directory, "tenure-data")}`]);
    const sameApi = new Api(again.port);
    expect((await sameApi.leader("g")).body.leader?.term).toBe(1);
    sameApi.close();
  });
});

/** Nothing on stdout, one line on stderr (and perhaps a suggestion), exit code 2. Returns the sentence. */
async function refused(
  args: readonly string[],
  run: (args: readonly string[]) => Promise<Ended> = command,
): Promise<string> {
  const { code, stdout, stderr } = await run(["serve", ...args]);
  expect(stdout).toBe("");
  expect(stderr).toMatch(/^tenure: [^\n]+\n(?:\(Did you mean [^\n]+\)\n)?$/);
  expect(code).toBe(2);
  return stderr.slice("tenure: ".length).trimEnd();
}

describe("tenure serve with wrong options exits with 2 and one sentence", () => {
  const memory = ["--store", "memory:"];

  it.each([
    ["without a port", "127.0.0.1", '--listen is "127.0.0.1" and must be HOST:PORT'],
    ["with an impossible port", "127.0.0.1:65536", '--listen is "127.0.0.1:65536" and must be HOST:PORT'],
    ["reachable by other machines without authentication", "0.0.0.0:0", "no authentication is configured"],
  ])("serve refuses an address to listen on: %s", async (_case, listen, sentence) => {
    expect(await refused([...memory, "--listen", listen])).toContain(sentence);
  });

  it.each([
    ["HTTP", ["--listen", "0.0.0.0:0"], /^--listen is 0\.0\.0\.0: .*clear text.*--tls-cert/],
    ["gRPC", [...ANY_PORT, "--grpc", "0.0.0.0:0"], /^--grpc is 0\.0\.0\.0: .*clear text.*--tls-cert/],
  ])("serve refuses bearer tokens in clear text from other machines: %s", async (_case, args, sentence) => {
    const token = join(directory, "token");
    writeFileSync(token, "0123456789abcdef0123", { mode: 0o600 });
    expect(await refused([...memory, ...args, "--admin-token-file", token])).toMatch(sentence);
    const server = await scratch.serve([...memory, ...args, "--admin-token-file", token, "--insecure"]);
    expect(server.stderr).toContain("--insecure: bearer tokens reach 0.0.0.0 in clear text");
  });

  it("serve refuses a port that is in use", async () => {
    const server = await scratch.serve([...ANY_PORT, ...memory]);
    const sentence = await refused([...memory, "--listen", `127.0.0.1:${server.port}`]);
    const remedy = "stop the other process or choose --listen HOST:PORT";
    expect(sentence).toBe(`port ${server.port} is already in use; ${remedy}`);
    const grpc = [...ANY_PORT, ...memory, "--grpc", `127.0.0.1:${server.port}`];
    expect(await refused(grpc)).toContain("choose --grpc HOST:PORT");
  });

  it.each([
    ["of an unknown kind", "redis://localhost", "--store must begin with"],
    ["without a directory", "embedded:", "--store must name a directory"],
  ])("serve refuses a store %s", async (_case, store, sentence) => {
    expect(await refused([...ANY_PORT, "--store", store])).toContain(sentence);
  });

  it("serve refuses a directory that another process has open", async () => {
    const store = `embedded:${join(directory, "data")}`;
    await scratch.serve([...ANY_PORT, "--store", store]);
    expect(await refused([...ANY_PORT, "--store", store])).toMatch(
      /is in use by process \d+; .*connect to the server that uses this one \(--server http:/,
    );
  });

  it("serve refuses a directory of another program", async () => {
    writeFileSync(join(directory, "diary.txt"), "not a store");
    const sentence = await refused([...ANY_PORT, "--store", `embedded:${directory}`]);
    expect(sentence).toContain(directory);
  });

  it.each([["--admin-token-file"], ["--signing-key"], ["--jwt-jwks"]])(
    "serve refuses a file that does not exist: %s",
    async (flag) => {
      const missing = join(directory, "missing");
      const sentence = await refused([...ANY_PORT, ...memory, flag, missing]);
      expect(sentence).toContain(`${missing} cannot be read: ENOENT`);
      expect(sentence).not.toContain(`--${missing}`);
    },
  );

  it("serve refuses a JWKS URL with a password, which is not repeated", async () => {
    const url = "https://svc:S3cretPw@idp.example/jwks?token=abc";
    const sentence = await refused([...ANY_PORT, ...memory, "--jwt-jwks", url]);
    expect(sentence).toMatch(/^--jwt-jwks contains a user name or a password/);
    expect(sentence).not.toMatch(/S3cretPw|abc/);
  });

  it("serve refuses a certificate without its key", async () => {
    expect(await refused([...ANY_PORT, ...memory, "--tls-cert", "c.pem"])).toContain("--tls-key is missing");
  });

  it.each([
    ["an option that does not exist", ["--storage", "memory:"], "unknown option '--storage'"],
    ["an option without its value", ["--listen"], "argument missing"],
    ["an extra argument", ["now"], "too many arguments"],
    ["a port without a host", ["--port", "8000"], "--port is not an option; use --listen 127.0.0.1:8000"],
    ["a log format that does not exist", ["--log-format", "xml"], '--log-format is "xml" and must be one of'],
    ["a log level that does not exist", ["--log-level", "loud"], '--log-level is "loud"'],
    ["a limit that is not a number", ["--max-groups", "x"], '--max-groups is "x" and must be a whole number'],
    [
      "a limit out of range",
      ["--max-groups", "0"],
      "--max-groups must be a whole number from 1 to 999999999",
    ],
    ["an option of JWTs alone", ["--jwt-max-age", "5"], "--jwt-max-age has no effect without --jwt-jwks"],
    ["a host name with a port", ["--allowed-hosts", "a, b:1"], '--allowed-hosts contains "b:1"; each name'],
  ])("serve refuses %s", async (_case, args, sentence) => {
    expect(await refused([...memory, ...args])).toContain(sentence);
  });

  it("serve refuses a wrong option of the environment", async () => {
    const run = (args: readonly string[]) => scratch.run(args, { TENURE_LISTEN: "nowhere" });
    expect(await refused([], run)).toContain('--listen is "nowhere"');
  });

  it("serve does not take a switch of the environment that is false as true", async () => {
    const environment = { TENURE_INSECURE: "false", TENURE_LISTEN: "0.0.0.0:0", TENURE_STORE: "memory:" };
    const run = (args: readonly string[]) => scratch.run(args, environment);
    expect(await refused([], run)).toContain("no authentication is configured");
  });
});
