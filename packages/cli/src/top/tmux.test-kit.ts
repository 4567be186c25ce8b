/** A terminal without a user: a program in tmux, its keys and its screen. */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { until } from "../engines/until.test-kit.js";

const run = promisify(execFile);
const LIMIT_MS = 15_000;

export class TmuxScreen implements AsyncDisposable {
  readonly #directory = mkdtempSync(join(tmpdir(), "tenure-tmux-"));

  private constructor() {}

  /** A shell that runs the command, and stays when it has ended. */
  static async start(command: string, columns: number, rows: number): Promise<TmuxScreen> {
    const screen = new TmuxScreen();
    const size = ["-x", String(columns), "-y", String(rows)];
    await screen.#tmux(
      "-f",
      "/dev/null",
      "new-session",
      "-d",
      ...size,
      "env",
      "PS1=prompt> ",
      "bash",
      "--norc",
      "--noprofile",
    );
    await screen.until(/prompt>/);
    await screen.type(`${command}\n`);
    return screen;
  }

  async lines(): Promise<string[]> {
    return (await this.#tmux("capture-pane", "-p")).replace(/\n+$/, "").split("\n");
  }

  async type(text: string): Promise<void> {
    await this.#tmux("send-keys", "-l", text);
  }

  async key(name: string): Promise<void> {
    await this.#tmux("send-keys", name);
  }

  async resize(columns: number, rows: number): Promise<void> {
    await this.#tmux("resize-window", "-x", String(columns), "-y", String(rows));
  }

  /** A state of the terminal, by tmux's name for it. */
  async is(flag: "alternate_on" | "cursor_flag" | "wrap_flag"): Promise<boolean> {
    return (await this.#tmux("display-message", "-p", `#{${flag}}`)).trim() === "1";
  }

  async until(pattern: RegExp): Promise<string[]> {
    let seen: string[] = [];
    try {
      await until(LIMIT_MS, `a screen with ${String(pattern)}`, async () => {
        seen = await this.lines();
        return pattern.test(seen.join("\n"));
      });
    } catch (cause) {
      throw new Error(`no ${String(pattern)} on this screen:\n${seen.join("\n")}`, { cause });
    }
    return seen;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#tmux("kill-server").catch(() => {});
    rmSync(this.#directory, { recursive: true, force: true });
  }

  async #tmux(...args: readonly string[]): Promise<string> {
    const env = { ...process.env, LC_ALL: "C.UTF-8", TERM: "xterm-256color", TMUX: "" };
    const { stdout } = await run("tmux", ["-u", "-S", join(this.#directory, "socket"), ...args], { env });
    return stdout;
  }
}
