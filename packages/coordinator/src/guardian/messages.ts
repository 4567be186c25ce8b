/** Messages between a process that leads and the guardian of what it has started. */

/**
 * When the command must be dead, on two clocks that all processes of a machine share: the monotonic clock, and the boot
 * clock, which advances during suspend.
 */
export interface KillTime {
  readonly monotonicMs: number;
  readonly bootMs: number;
}

export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string | null;
}

export type ToGuardian =
  | { readonly kind: "run"; readonly command: Command; readonly killAt: KillTime }
  | { readonly kind: "kill-at"; readonly killAt: KillTime }
  | { readonly kind: "signal"; readonly signal: NodeJS.Signals };

export type FromGuardian =
  | { readonly kind: "running" }
  | { readonly kind: "cannot-run"; readonly problem: string }
  /** The command has ended; processes that it started may still run. */
  | { readonly kind: "ended"; readonly end: CommandEnd };

export interface CommandEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** The command was killed, or never started, because the lease was about to end. */
  readonly byLease: boolean;
}
