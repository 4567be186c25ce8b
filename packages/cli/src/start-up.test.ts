/** What a command loads: a command that asks a server must not wait for the modules of servers, stores and other commands. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, describe, expect, it } from "vitest";
import { Scratch } from "./scratch.test-kit.js";

const BIN = fileURLToPath(new URL("../bin/tenure.js", import.meta.url));
const scratch = new Scratch();
afterAll(() => scratch.close());

/** Writes the address of each module that is loaded to the file of the environment. */
const HOOK = `import { appendFileSync } from "node:fs";
export const initialize = (file) => { globalThis.file = file; };
export const load = (url, context, next) => { appendFileSync(globalThis.file, url + "\\n"); return next(url, context); };`;
const REGISTER = `import { register } from "node:module";
register("data:text/javascript,${encodeURIComponent(HOOK)}", { data: process.env.LOADED_MODULES });`;

async function modulesOf(...args: readonly string[]): Promise<string[]> {
  const file = join(scratch.directory(), "modules");
  const preload = `data:text/javascript,${encodeURIComponent(REGISTER)}`;
  const env = { ...process.env, LOADED_MODULES: file };
  await promisify(execFile)(process.execPath, ["--import", preload, BIN, ...args], { env }).catch(
    (error: unknown) => {
      // `tenure leader` exits with 3 if there is no leader.
      if ((error as { code?: unknown }).code !== 3) throw error;
    },
  );
  return readFileSync(file, "utf8").trim().split("\n");
}

describe("the modules that a command loads", () => {
  it.each([["--version"], ["--help"]])(
    "tenure %s loads no package besides the parser and one file without imports",
    async (option) => {
      const modules = await modulesOf(option);
      expect(modules.some((each) => each.endsWith("/cli/dist/program.js"))).toBe(true);
      const others = /packages\/(?!cli\/)|node_modules\/(?!commander\/)/;
      const isDuration = (each: string) => each.endsWith("/api/dist/attention/duration-text.js");
      expect(modules.filter((each) => others.test(each) && !isDuration(each))).toEqual([]);
    },
  );

  it("tenure leader loads its own command and the client, and neither a server nor a store nor gRPC", async () => {
    const { url } = await scratch.memoryServer();
    const modules = await modulesOf("leader", "g", "--server", url);
    expect(modules.some((each) => each.includes("/packages/client/dist/http/"))).toBe(true);
    const others =
      /packages\/(?:server|stores|peers|coordinator)\/|client\/dist\/election|grpc|typebox|lmdb|fastify/;
    expect(modules.filter((each) => others.test(each))).toEqual([]);
    const commands = modules.filter((each) => /cli\/dist\/.*-commands?\.js$/.test(each));
    expect(commands.map((each) => each.replace(/.*\//, "")).sort()).toEqual([
      "elector-command.js",
      "leader-command.js",
    ]);
  });
});
