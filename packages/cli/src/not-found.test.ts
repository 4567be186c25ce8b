/** A group that does not exist is reported as such, by real processes of the command over a server and over a store. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { command, type Finished } from "./frame/command.test-kit.js";
import { Scratch } from "./scratch.test-kit.js";

const scratch = new Scratch();
const where: Record<"server" | "store", readonly string[]> = { server: [], store: [] };
beforeAll(async () => {
  const server = await scratch.memoryServer();
  where.server = ["--server", server.url];
  where.store = ["--store", `embedded:${scratch.directory()}/direct`];
  for (const target of [where.server, where.store])
    await command(["groups", "create", "nope/typ", ...target]);
});
afterAll(() => scratch.close());

describe.each(["server", "store"] as const)("a group that does not exist, over a %s", (kind) => {
  const tenure = (...args: readonly string[]): Promise<Finished> => command([...args, ...where[kind]]);

  it.each([
    [["groups", "show"]],
    [["groups", "delete"]],
    [["groups", "update", "--max-ttl", "30s"]],
    [["pause"]],
    [["resume"]],
    [["step-down"]],
    [["transfer"]],
    [["why"]],
    [["members"]],
    [["history"]],
  ])("tenure %j exits with 1, names the nearest group, and creates nothing", async (args) => {
    expect(await tenure(...args, "nope/typo")).toEqual({
      code: 1,
      stdout: "",
      stderr: "tenure: no group nope/typo; did you mean nope/typ?\n",
    });
    expect((await tenure("groups", "list", "--json")).stdout).not.toContain("nope/typo");
    const asJson = await tenure(...args, "nope/typo", "--json");
    expect(JSON.parse(asJson.stderr)).toMatchObject({ ok: false, error: "GROUP_NOT_FOUND" });
  });

  it("an error without a similar group names the command that lists the groups", async () => {
    expect((await tenure("why", "payments")).stderr).toBe(
      "tenure: no group payments; list the groups with tenure groups list\n",
    );
  });

  it("leader says that a group does not exist yet, and keeps exit code 3", async () => {
    const { code, stdout } = await tenure("leader", "nope/typo");
    expect(code).toBe(3);
    expect(stdout).toContain("no group nope/typo; did you mean nope/typ?\n");
  });

  it("watch says that a group does not exist yet, and shows its first leader", async () => {
    const user = new AbortController();
    let seen = (): void => {};
    const waiting = new Promise<void>((resolve) => (seen = resolve));
    const watching = command(["watch", "nope/new", "--count", "1", ...where[kind]], {
      signal: user.signal,
      onReport: () => seen(),
    });
    // A store of this process is open once; the campaign needs it after the watch has ended.
    if (kind === "store") {
      await waiting;
      user.abort(new Error("enough"));
      expect((await watching).stderr).toContain("no group nope/new;");
      return;
    }
    await waiting;
    await tenure("campaign", "nope/new", "--node-id", "a");
    const { stdout, stderr } = await watching;
    expect(stderr).toMatch(/^tenure: no group nope\/new; .*waiting for the first campaign\n$/);
    expect(stdout).toMatch(/^EVENTS\nTIME .*\n\S+ \S+ +elected +a +1\n$/);
  });

  it("pause --create pauses a group before its first campaign", async () => {
    const group = `fresh/${kind}`;
    expect((await tenure("pause", group)).code).toBe(1);
    expect((await tenure("pause", group, "--create")).code).toBe(0);
    expect((await tenure("campaign", group, "--node-id", "a")).stdout).toContain(
      `${group} is paused; no new leader`,
    );
    expect((await tenure("resume", group)).stdout).toBe(`${group} resumed\n`);
    expect((await tenure("resume", group)).stdout).toBe(`${group} was not paused\n`);
  });
});
