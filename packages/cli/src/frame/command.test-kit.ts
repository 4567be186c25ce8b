/** A command run in this process, against real servers and stores: its output and exit code. */
import { Shell } from "./shell.js";
import { run } from "../program.js";

export interface Finished {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CommandOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  readonly isTerminal?: boolean;
  /** Called with the whole output so far, whenever there is more. */
  readonly onOutput?: (stdout: string) => void;
  /** The same for errors and remarks. */
  readonly onReport?: (stderr: string) => void;
  /** The width of the terminal. */
  readonly columns?: number;
}

export async function command(args: readonly string[], options: CommandOptions = {}): Promise<Finished> {
  const {
    env = {},
    signal = new AbortController().signal,
    isTerminal = false,
    onOutput,
    onReport,
    columns,
  } = options;
  let stdout = "";
  let stderr = "";
  const out = {
    isTTY: isTerminal,
    columns,
    write: (text: string): void => {
      stdout += text;
      onOutput?.(stdout);
    },
  };
  const err = {
    isTTY: isTerminal,
    write: (text: string): void => {
      stderr += text;
      onReport?.(stderr);
    },
  };
  const shell = new Shell({ out, err, env, signal });
  await run(shell, args);
  return { code: shell.exitCode, stdout, stderr };
}

/** The one JSON value that a command printed. */
export function jsonOf<T>({ stdout, stderr }: Finished): T {
  if (stderr !== "") throw new Error(`the command complained: ${stderr}`);
  return JSON.parse(stdout) as T;
}
