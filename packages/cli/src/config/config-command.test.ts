/** `tenure config` and the contexts that other commands use, with a real server. */
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { targetOf } from "../frame/connection.js";
import { command, type Finished } from "../frame/command.test-kit.js";
import { Scratch } from "../scratch.test-kit.js";

const scratch = new Scratch();
afterAll(() => scratch.close());

let env: Readonly<Record<string, string>>;
let file: string;
beforeEach(() => {
  const home = scratch.directory();
  env = { HOME: home };
  file = join(home, ".config", "tenure", "config.json");
});

const tenure = (...args: readonly string[]): Promise<Finished> => command(args, { env });
const config = (...args: readonly string[]): Promise<Finished> => tenure("config", ...args);

describe("the contexts of tenure config", () => {
  it("contexts are created, listed, chosen and deleted, in a file that only the owner can read", async () => {
    expect((await config("set-context", "prod", "--server", "https://a:7420")).stdout).toBe(
      "context prod created; it is the current context\n",
    );
    expect(
      (await config("set-context", "dev", "--server", "localhost:7421", "--token-file", "/t")).stdout,
    ).toBe("context dev created; use it with --context dev\n");
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(dirname(file)).mode & 0o777).toBe(0o700);
    expect((await config("get-contexts")).stdout).toMatch(
      /^CURRENT +NAME +SERVER OR STORE +CREDENTIALS\n\* +prod +https:\/\/a:7420 +-\n +dev +http:\/\/localhost:7421 +token\n$/,
    );
    await config("use-context", "dev");
    expect((await config("current-context")).stdout).toBe("dev\n");
    expect(JSON.parse((await config("view")).stdout)).toEqual({
      current_context: "dev",
      contexts: {
        prod: { server: "https://a:7420" },
        dev: { server: "http://localhost:7421", token_file: "/t" },
      },
    });
    await config("delete-context", "dev");
    expect(await config("current-context")).toMatchObject({ code: 1, stdout: "" });
    expect((await config("delete-context", "prd")).stderr).toMatch(
      /^tenure: --context is prd, which .*config\.json does not have; did you mean prod\?\n$/,
    );
  });

  it("set-context changes only the given fields, and a store replaces a server", async () => {
    await config("set-context", "c", "--server", "https://a", "--ca", "ca.pem");
    await config("set-context", "c", "--token-file", "token");
    const read = (): unknown =>
      (JSON.parse(readFileSync(file, "utf8")) as { contexts: { c: object } }).contexts.c;
    expect(read()).toEqual({
      server: "https://a",
      ca: join(process.cwd(), "ca.pem"),
      token_file: join(process.cwd(), "token"),
    });
    await config("set-context", "c", "--store", "memory:");
    expect(read()).not.toHaveProperty("server");
    expect((await config("set-context", "empty")).code).toBe(2);
  });

  it("TENURE_CONFIG and XDG_CONFIG_HOME name another file", async () => {
    const other = join(scratch.directory(), "other.json");
    await command(["config", "set-context", "x", "--server", "https://x"], {
      env: { ...env, TENURE_CONFIG: other },
    });
    expect(readFileSync(other, "utf8")).toContain("https://x");
    const xdg = scratch.directory();
    await command(["config", "set-context", "y", "--server", "https://y"], {
      env: { ...env, XDG_CONFIG_HOME: xdg },
    });
    expect(readFileSync(join(xdg, "tenure", "config.json"), "utf8")).toContain("https://y");
  });

  it.each([
    ["text that is not JSON", "{", "is not JSON"],
    ["an unknown field", '{"servers":[]}', "has the unknown field servers"],
    [
      "an unknown field of a context",
      '{"contexts":{"a":{"token":"x"}}}',
      "contexts.a has the unknown field token",
    ],
    [
      "a server and a store",
      '{"contexts":{"a":{"server":"http://a","store":"memory:"}}}',
      "has both server and store",
    ],
  ])("a file with %s is refused with its path", async (_case, text, problem) => {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    const { code, stderr } = await tenure("leader", "g");
    expect(code).toBe(2);
    expect(stderr).toContain(`tenure: ${file} `);
    expect(stderr).toContain(problem);
  });
});

describe("a context as the target of a command", () => {
  it("a command uses the server and the token of the current context, or of --context", async () => {
    const token = join(scratch.directory(), "token");
    writeFileSync(token, "0123456789abcdef0123456789abcdef\n", { mode: 0o600 });
    const quiet = ["--listen", "127.0.0.1:0", "--store", "memory:", "--log-level", "error"];
    const server = await scratch.serve([...quiet, "--admin-token-file", token]);
    await config("set-context", "bare", "--server", server.url);
    await config("set-context", "full", "--server", server.url, "--token-file", token);
    expect((await tenure("leader", "g")).code).toBe(1);
    expect((await tenure("leader", "g", "--context", "full")).code).toBe(3);
    expect((await command(["leader", "g"], { env: { ...env, TENURE_CONTEXT: "full" } })).code).toBe(3);
    const process = await scratch.run(["leader", "g", "--context", "full"], env);
    expect(process).toMatchObject({ code: 3, stderr: "" });
  });

  it("options override the environment, and the environment overrides the current context", async () => {
    await config("set-context", "c", "--server", "https://context", "--token-file", "/context");
    expect(targetOf({}, env)).toEqual({
      kind: "server",
      endpoints: ["https://context"],
      access: { tokenFile: "/context" },
    });
    const byEnv = { ...env, TENURE_SERVER: "https://env", TENURE_TOKEN_FILE: "/env" };
    expect(targetOf({}, byEnv)).toMatchObject({ endpoints: ["https://env"], access: { tokenFile: "/env" } });
    expect(targetOf({ context: "c" }, byEnv)).toMatchObject({
      endpoints: ["https://context"],
      access: { tokenFile: "/context" },
    });
    expect(targetOf({ tokenFile: "/flag" }, env)).toMatchObject({ access: { tokenFile: "/flag" } });
  });

  it("the token of a context is never sent to another server", async () => {
    await config("set-context", "c", "--server", "https://context", "--token-file", "/context");
    const bare = { kind: "server", endpoints: ["https://other"], access: {} };
    expect(targetOf({ server: "https://other" }, env)).toEqual(bare);
    expect(targetOf({}, { ...env, TENURE_SERVER: "https://other" })).toEqual(bare);
  });
});
