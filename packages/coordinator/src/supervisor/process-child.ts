import { GuardedCommand } from "../guardian/guarded-command.js";
import type { ChildOptions, ChildSpec } from "./child.js";

export interface ProcessChildOptions extends ChildOptions {
  /** Arguments of the command. @defaultValue none */
  readonly args?: readonly string[];
  /** The environment of the process, to which `TENURE_TERM` is added. @defaultValue `process.env` */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** The working directory. @defaultValue that of this process */
  readonly cwd?: string;
  /** Whether the process shares stdin, stdout and stderr with this one. @defaultValue `inherit` */
  readonly stdio?: "inherit" | "ignore";
  /** How long before the end of the lease the process is killed, in milliseconds. @defaultValue 50 */
  readonly killMarginMs?: number;
}

const TELL_EVERY_MS = 50;

/**
 * A child process with the term in `TENURE_TERM`. SIGTERM asks it to end. It is killed, with all processes that it has
 * started, before another node can lead, even if this process is stopped or killed.
 */
export function processChild(id: string, file: string, options: ProcessChildOptions = {}): ChildSpec {
  const { args = [], env = process.env, cwd = null, stdio = "inherit", killMarginMs = 50, ...rest } = options;
  return {
    ...rest,
    id,
    start({ term, lease }) {
      const command = { file, args, cwd, env: { ...env, TENURE_TERM: String(term) } };
      const running = new GuardedCommand({
        command,
        lease,
        killMarginMs,
        stdio,
        tellEveryMs: TELL_EVERY_MS,
      });
      let asked = false;
      const ask = (signal: NodeJS.Signals) => {
        asked = true;
        running.signal(signal);
      };
      const ended = running.ended.then(({ code, signal }) => {
        if (code !== 0 && !asked) throw new Error(`${id} ended with ${signal ?? `exit code ${code}`}`);
      });
      return { ended, stop: () => ask("SIGTERM"), kill: () => ask("SIGKILL") };
    },
  };
}
