/** `tenure run` as a person sees it on a terminal. */
import { fileURLToPath } from "node:url";
import { isMissing } from "@tenure/engines";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { command } from "../frame/command.test-kit.js";
import { Scratch } from "../scratch.test-kit.js";
import { TmuxScreen } from "../top/tmux.test-kit.js";

const BIN = fileURLToPath(new URL("../../bin/tenure.js", import.meta.url));

describe.skipIf(isMissing("tmux"))("tenure run on a terminal", () => {
  const scratch = new Scratch();
  let server: string;
  beforeAll(async () => {
    const args = ["--listen", "127.0.0.1:0", "--store", "memory:", "--log-level", "warn"];
    server = (await scratch.serve(args)).url;
  });
  afterAll(() => scratch.close());

  it("tenure run shows its whole life on a terminal, from waiting to Ctrl-C and the kill", async () => {
    const other = ["--node-id", "other", "--server", server];
    await command(["campaign", "g", "--ttl", "60s", ...other]);
    const deaf = `sh -c 'trap "" TERM INT; echo working; while :; do sleep 1000; done'`;
    const run = `${process.execPath} ${BIN} run g --server ${server} --node-id n --grace 300ms -- ${deaf}`;
    await using screen = await TmuxScreen.start(`clear; ${run}; echo exit=$?`, 100, 24);
    await screen.until(/other leads g in term 1; waiting/);
    await command(["resign", "g", "--term", "1", ...other]);
    await screen.until(/working/);
    await screen.key("C-c");
    const lines = await screen.until(/exit=\d+/);
    expect(lines.filter((line) => line !== "" && !line.startsWith("prompt>"))).toEqual([
      "tenure: other leads g in term 1; waiting",
      "tenure: n leads g in term 2",
      "working",
      "^Ctenure: sent SIGTERM to the command; waiting up to 300ms",
      "tenure: the command did not exit in time; sent SIGKILL",
      "tenure: the command was ended by SIGKILL",
      "tenure: tenure run ended; exit code 137",
      "exit=137",
    ]);
  });
});
