/** `tenure top` on a real terminal, driven by keys. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { isMissing } from "@tenure/engines";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { command } from "../frame/command.test-kit.js";
import { RestartedServer } from "../restarted-server.test-kit.js";
import { Scratch } from "../scratch.test-kit.js";
import { TmuxScreen } from "./tmux.test-kit.js";

const TENURE = `${process.execPath} ${fileURLToPath(new URL("../../bin/tenure.js", import.meta.url))}`;

describe.skipIf(isMissing("tmux"))("tenure top in tmux", () => {
  const scratch = new Scratch();
  let server: RestartedServer;
  let url: string[];
  const tenure = (...args: readonly string[]) => command([...args, ...url]);
  beforeAll(async () => {
    server = await RestartedServer.start(scratch, scratch.directory());
    url = ["--server", `http://127.0.0.1:${server.port}`];
    for (const [group, node] of [
      ["alpha", "n-1"],
      ["beta", "n-2"],
      ["gamma", "n-1"],
    ] as const) {
      await tenure("campaign", group, "--node-id", node, "--ttl", "60s");
    }
    await tenure("step-down", "gamma", "--force");
    await tenure("campaign", "gamma", "--node-id", "n-3", "--ttl", "60s");
    await tenure("groups", "create", "vacant");
    await tenure("pause", "beta");
  });
  afterAll(() => scratch.close());

  it("top shows the groups, obeys its keys, fits every size, and restores the terminal", async () => {
    await using screen = await TmuxScreen.start(`${TENURE} top ${url.join(" ")} --interval 250ms`, 100, 14);
    const first = await screen.until(/vacant .* 0 +0$/m);
    expect(await screen.is("alternate_on")).toBe(true);
    expect(await screen.is("cursor_flag")).toBe(false);
    expect(first[0]).toMatch(
      /^tenure top {2}http:\/\/127\.0\.0\.1:\d+ {2}\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ {2}4 groups, 3 led$/,
    );
    expect(first[1]).toMatch(/^store responds in [\d.]+ ms$/);
    expect(first[2]).toMatch(/^GROUP +LEADER +TERM LEASE +CHANGES\/H MEMBERS$/);
    expect(first[3]).toMatch(/^alpha +n-1 +1 █+░* (?:\d+(?:\.\d)? s|1 min) +1 +1$/);
    expect(first[4]).toMatch(/^beta +n-2 \(paused\) +1 /);
    expect(first[5]).toMatch(/^gamma +n-3 +2 █+░* .* 2 +\d$/);
    expect(first[6]).toMatch(/^vacant +- +0 +0 +0$/);
    expect(first[13]).toMatch(/^sorted by group +\| sort: g l t e c m/);

    await screen.type("t");
    const byTerm = await screen.until(/sorted by term/);
    expect(byTerm[3]).toMatch(/^gamma/);
    await screen.type("/N-1");
    await screen.until(/filter: N-1_/);
    await screen.key("Enter");
    const filtered = await screen.until(/1 of 4 groups/);
    expect(filtered[3]).toMatch(/^alpha/);
    expect(filtered[4]).toBe("");

    await screen.key("Escape");
    await screen.resize(44, 9);
    const narrow = await screen.until(/^sorted by term {2}\| sort: .*…$/m);
    expect(narrow.length).toBe(9);
    expect(narrow[2]).toMatch(/^GROUP +LEADER +TERM(?: LEASE)?$/);
    expect(narrow[3]).toMatch(/^gamma/);
    await screen.resize(120, 30);
    expect((await screen.until(/MEMBERS$/m)).length).toBe(30);

    // Live: an event is on the screen by the next refresh.
    await tenure("campaign", "delta", "--node-id", "n-9", "--ttl", "60s");
    await screen.until(/^delta +n-9 +1 /m);

    await screen.type("q");
    const after = await screen.until(/prompt> *$/);
    expect(after.join("\n")).not.toContain("GROUP");
    for (const flag of ["cursor_flag", "wrap_flag"] as const) expect(await screen.is(flag)).toBe(true);
    expect(await screen.is("alternate_on")).toBe(false);
    // The keyboard too: typed text is shown, and Enter ends a line.
    await screen.type("echo code=$?\n");
    await screen.until(/^code=0$/m);
  });

  it("top reports that no server answers, keeps the last state, and resumes by itself", async () => {
    await using screen = await TmuxScreen.start(`${TENURE} top ${url.join(" ")} --interval 250ms`, 90, 12);
    await screen.until(/^alpha /m);
    await server.end("SIGKILL");
    const lost = await screen.until(/^no response: /m);
    expect(lost[3]).toMatch(/^alpha/);
    await server.killAndRestart();
    await screen.until(/^store responds in /m);
    await screen.type("q");
    await screen.until(/prompt> *$/);
  });

  it.each(["SIGTERM", "SIGINT", "SIGHUP"] as const)(
    "%s ends top and restores the terminal",
    async (signal) => {
      const pidFile = join(scratch.directory(), "pid");
      const line = `sh -c 'echo $$ > ${pidFile}; exec ${TENURE} top ${url.join(" ")}'`;
      await using screen = await TmuxScreen.start(line, 90, 12);
      await screen.until(/^alpha /m);
      expect(await screen.is("alternate_on")).toBe(true);
      process.kill(Number(readFileSync(pidFile, "utf8")), signal);
      await screen.until(/prompt> *$/);
      expect(await screen.is("alternate_on")).toBe(false);
      expect(await screen.is("cursor_flag")).toBe(true);
      await screen.type("echo code=$?\n");
      await screen.until(/^code=0$/m);
    },
  );

  it("Ctrl-Z restores the terminal for the shell, and fg continues top", async () => {
    await using screen = await TmuxScreen.start(`${TENURE} top ${url.join(" ")}`, 90, 12);
    await screen.until(/^alpha /m);
    await screen.key("C-z");
    await screen.until(/Stopped/);
    expect(await screen.is("alternate_on")).toBe(false);
    await screen.type("fg\n");
    await screen.until(/^alpha /m);
    await screen.key("C-c");
    await screen.until(/prompt> *$/);
  });
});
