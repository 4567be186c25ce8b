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
      /^tenure top {2}4 groups, 3 led {2}\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ {2}http:\/\/127\.0\.0\.1:\d+$/,
    );
    expect(first[1]).toMatch(/^store responds in [\d.]+m?s$/);
    expect(first[2]).toMatch(/^GROUP +STATE +LEADER +TERM LEASE +CHANGES\/H MEMBERS$/);
    expect(first[3]).toMatch(/^alpha +led +n-1 +1 █+░* (?:\d+(?:\.\d)?s|1m) +1 +1$/);
    expect(first[4]).toMatch(/^beta +paused +n-2 +1 /);
    expect(first[5]).toMatch(/^gamma +led +n-3 +2 █+░* .* 2 +\d$/);
    expect(first[6]).toMatch(/^vacant +never led +- +0 +0 +0$/);
    expect(first[13]).toMatch(/^sorted by group +\| \?: help +enter: details/);

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
    const narrow = await screen.until(/^sorted by term {2}\| \?: help.*…/m);
    expect(narrow.length).toBe(9);
    expect(narrow[2]).toMatch(/^GROUP +STATE +LEADER(?: +TERM)?$/);
    expect(narrow[3]).toMatch(/^gamma/);
    await screen.resize(120, 30);
    expect((await screen.until(/MEMBERS$/m)).length).toBe(30);

    // Live: an event is on the screen by the next refresh.
    await tenure("campaign", "delta", "--node-id", "n-9", "--ttl", "60s");
    await screen.until(/^delta +led +n-9 +1 /m);

    await screen.type("q");
    const after = await screen.until(/prompt> *$/);
    expect(after.join("\n")).not.toContain("GROUP");
    for (const flag of ["cursor_flag", "wrap_flag"] as const) expect(await screen.is(flag)).toBe(true);
    expect(await screen.is("alternate_on")).toBe(false);
    // The keyboard too: typed text is shown, and Enter ends a line.
    await screen.type("echo code=$?\n");
    await screen.until(/^code=0$/m);
  });

  it("top opens a group, shows its keys, and pauses and resumes the group after a reason", async () => {
    await using screen = await TmuxScreen.start(`${TENURE} top ${url.join(" ")} --interval 250ms`, 100, 24);
    await screen.until(/^gamma .* \d+ +\d$/m);
    await screen.type("?");
    await screen.until(/^p r s +pause, resume, step down/m);
    await screen.type("x/gamma");
    await screen.key("Enter");
    await screen.until(/1 of \d groups/);
    await screen.key("Enter");
    const page = await screen.until(/^TIME +EVENT +NODE/m);
    expect(page[2]).toBe("gamma");
    expect(page.join("\n")).toMatch(/^state +led$/m);
    expect(page.join("\n")).toMatch(/^leader +n-3, term 2$/m);
    expect(page.join("\n")).toMatch(/ elected +n-3 +2/);
    expect(page.join("\n")).toMatch(/ lost +n-1 +1 +stepped down, by /);

    // Without a reason nothing happens.
    await screen.type("p");
    await screen.until(/^pause gamma, reason: _/m);
    await screen.key("Enter");
    await screen.until(/^type a reason first/m);
    expect((await tenure("groups", "show", "gamma")).stdout).toMatch(/^paused +no$/m);
    await screen.type("disk");
    await screen.key("Enter");
    await screen.until(/^gamma: paused /m);
    await screen.until(/^state +paused$/m);
    expect((await tenure("groups", "show", "gamma")).stdout).toMatch(/^paused +until resumed/m);
    await screen.type("rfixed");
    await screen.key("Enter");
    await screen.until(/^gamma: resumed /m);
    await screen.until(/^state +led$/m);
    await screen.key("Escape");
    await screen.until(/^GROUP +STATE/m);
    await screen.type("q");
    await screen.until(/prompt> *$/);
  });

  it("top survives a terminal of 20 columns and 4 rows on each of its pages", async () => {
    await using screen = await TmuxScreen.start(`${TENURE} top ${url.join(" ")} --interval 250ms`, 90, 12);
    await screen.until(/^alpha /m);
    await screen.resize(20, 4);
    expect((await screen.until(/^sorted by group/m)).length).toBe(4);
    await screen.type("?");
    await screen.until(/^any key: back/m);
    await screen.type("x");
    await screen.key("Enter");
    await screen.until(/^esc: back/m);
    await screen.key("Escape");
    await screen.until(/^sorted by group/m);
    await screen.type("q");
    await screen.resize(80, 12);
    await screen.until(/prompt> *$/);
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
