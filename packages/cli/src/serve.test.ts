/** `tenure serve` as its user meets it: the line that says it is ready, and one sentence for what cannot work. */
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

describe("the line that says it is ready", () => {
  it("names the address and the store, and the service answers there", async () => {
    const server = await scratch.serve([...ANY_PORT, "--store", `embedded:${join(directory, "data")}`]);
    expect(server.readyLine).toBe(`tenure listening on http://127.0.0.1:${server.port} (store: embedded)`);
    const api = new Api(server.port);
    expect((await api.get("/readyz")).status).toBe(200);
    api.close();
    expect(await server.end("SIGTERM")).toBe(0);
  });

  it("comes from options in the environment as well", async () => {
    const server = await scratch.serve([], { TENURE_LISTEN: "127.0.0.1:0", TENURE_STORE: "memory:" });
    expect(server.readyLine).toBe(`tenure listening on http://127.0.0.1:${server.port} (store: memory)`);
    expect(await server.end("SIGINT")).toBe(0);
  });

  it("obeys the command line where the environment says otherwise, and switches of the environment", async () => {
    const environment = { TENURE_LISTEN: "nowhere", TENURE_STORE: "memory:", TENURE_EXPLICIT_GROUPS: "true" };
    const server = await scratch.serve(ANY_PORT, environment);
    const api = new Api(server.port);
    const answer = await api.leader("never-created");
    expect(answer).toMatchObject({ status: 404, body: { error: "GROUP_NOT_FOUND" } });
    api.close();
  });

  it("is the default directory ./tenure-data without any store", async () => {
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

/** Nothing on stdout, one line on stderr (and perhaps what was meant), exit code 2. Returns the sentence. */
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

describe("what cannot work ends with exit code 2 and one sentence", () => {
  const memory = ["--store", "memory:"];

  it.each([
    ["no port", "127.0.0.1", '--listen is "127.0.0.1" and must be HOST:PORT'],
    ["no such port", "127.0.0.1:65536", '--listen is "127.0.0.1:65536" and must be HOST:PORT'],
    ["within reach of others, without authentication", "0.0.0.0:0", "no authentication is configured"],
  ])("where to listen: %s", async (_case, listen, sentence) => {
    expect(await refused([...memory, "--listen", listen])).toContain(sentence);
  });

  it.each([
    ["HTTP", ["--listen", "0.0.0.0:0"], /^--listen is 0\.0\.0\.0: .*clear text.*--tls-cert/],
    ["gRPC", [...ANY_PORT, "--grpc", "0.0.0.0:0"], /^--grpc is 0\.0\.0\.0: .*clear text.*--tls-cert/],
  ])("bearer tokens in clear text within reach of others: %s", async (_case, args, sentence) => {
    const token = join(directory, "token");
    writeFileSync(token, "0123456789abcdef0123", { mode: 0o600 });
    expect(await refused([...memory, ...args, "--admin-token-file", token])).toMatch(sentence);
    const server = await scratch.serve([...memory, ...args, "--admin-token-file", token, "--insecure"]);
    expect(server.stderr).toContain("--insecure: bearer tokens reach 0.0.0.0 in clear text");
  });

  it("where to listen: a port that is taken", async () => {
    const server = await scratch.serve([...ANY_PORT, ...memory]);
    const sentence = await refused([...memory, "--listen", `127.0.0.1:${server.port}`]);
    expect(sentence).toContain(`--listen 127.0.0.1:${server.port} cannot be opened`);
  });

  it.each([
    ["of no known kind", "redis://localhost", "--store must begin with"],
    ["without a directory", "embedded:", "--store must name a directory"],
  ])("a store %s", async (_case, store, sentence) => {
    expect(await refused([...ANY_PORT, "--store", store])).toContain(sentence);
  });

  it("a store in a directory that another process has open", async () => {
    const store = `embedded:${join(directory, "data")}`;
    await scratch.serve([...ANY_PORT, "--store", store]);
    expect(await refused([...ANY_PORT, "--store", store])).toMatch(/is in use by process \d+/);
  });

  it("a store in a directory of something else", async () => {
    writeFileSync(join(directory, "diary.txt"), "not a store");
    const sentence = await refused([...ANY_PORT, "--store", `embedded:${directory}`]);
    expect(sentence).toContain(directory);
  });

  it.each([["--admin-token-file"], ["--signing-key"], ["--jwt-jwks"]])(
    "a file that is not there: %s",
    async (flag) => {
      const missing = join(directory, "missing");
      const sentence = await refused([...ANY_PORT, ...memory, flag, missing]);
      expect(sentence).toContain(`${missing} cannot be read: ENOENT`);
      expect(sentence).not.toContain(`--${missing}`);
    },
  );

  it("a JWKS URL with a password in it, which is not repeated", async () => {
    const url = "https://svc:S3cretPw@idp.example/jwks?token=abc";
    const sentence = await refused([...ANY_PORT, ...memory, "--jwt-jwks", url]);
    expect(sentence).toMatch(/^--jwt-jwks contains a user name or a password/);
    expect(sentence).not.toMatch(/S3cretPw|abc/);
  });

  it("a certificate without its key", async () => {
    expect(await refused([...ANY_PORT, ...memory, "--tls-cert", "c.pem"])).toContain("--tls-key is missing");
  });

  it.each([
    ["an option that does not exist", ["--storage", "memory:"], "unknown option '--storage'"],
    ["an option without its value", ["--listen"], "argument missing"],
    ["a word too many", ["now"], "too many arguments"],
    ["a log level that does not exist", ["--log-level", "loud"], '--log-level is "loud"'],
    ["a limit that is not a number", ["--max-groups", "x"], '--max-groups is "x" and must be a whole number'],
    [
      "a limit out of range",
      ["--max-groups", "0"],
      "--max-groups must be a whole number from 1 to 999999999",
    ],
    ["an option of JWTs alone", ["--jwt-max-age", "5"], "--jwt-max-age has no effect without --jwt-jwks"],
    ["a host name with a port", ["--allowed-hosts", "a, b:1"], '--allowed-hosts contains "b:1"; each name'],
  ])("%s", async (_case, args, sentence) => {
    expect(await refused([...memory, ...args])).toContain(sentence);
  });

  it("an option of the environment", async () => {
    const run = (args: readonly string[]) => scratch.run(args, { TENURE_LISTEN: "nowhere" });
    expect(await refused([], run)).toContain('--listen is "nowhere"');
  });

  it("a switch of the environment that says no is not a yes", async () => {
    const environment = { TENURE_INSECURE: "false", TENURE_LISTEN: "0.0.0.0:0", TENURE_STORE: "memory:" };
    const run = (args: readonly string[]) => scratch.run(args, environment);
    expect(await refused([], run)).toContain("no authentication is configured");
  });
});
