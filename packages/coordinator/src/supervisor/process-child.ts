import { GuardedCommand } from "../guardian/guarded-command.js";
import type { ChildOptions, ChildSpec } from "./child.js";

export interface ProcessChildOptions extends ChildOptions {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
  readonly stdio?: "inherit" | "ignore";
  /** It is killed so long before the lease ends. */
  readonly killMarginMs?: number;
}

const TELL_EVERY_MS = 50;

/**
 * A child process with the term in `TENURE_TERM`. SIGTERM asks it to end; it is killed with all it has started before the
 * lease can end elsewhere, even if this process is stopped or killed.
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
