import type { LeaseTime } from "@tenure/client";

/** What a child of the supervisor is: something that runs in one term, can be asked to end, and perhaps be ended. */

/** `permanent`: always started again; `transient`: unless it ended well; `temporary`: never. */
export type Restart = "permanent" | "transient" | "temporary";

export interface ChildContext {
  /** Send it along with every act: a resource that has seen a higher one refuses. */
  readonly term: number;
  /** Aborts when the child has to end. */
  readonly signal: AbortSignal;
  /** How long it may take over that. */
  readonly lease: LeaseTime;
}

export interface RunningChild {
  /** Settles when nothing of the child runs any more: resolves if it ended well, rejects if it crashed. */
  readonly ended: Promise<void>;
  /** Asks it to end; the signal of its context says the same. What it returns is not waited for: `ended` tells. */
  stop?(): unknown;
  /** Ends it by force. What runs in this very thread has no such thing. */
  kill?(): void;
}

export interface ChildSpec {
  readonly id: string;
  /** Resolves when the child has started; the next one is started then. Rejecting counts as a crash. */
  start(context: ChildContext): RunningChild | Promise<RunningChild>;
  readonly restart?: Restart;
  /** How long it may take to end (5000) before it is killed; sooner if the lease ends sooner. `Infinity`: for ever. */
  readonly stopTimeoutMs?: number;
}

export interface ChildOptions {
  readonly restart?: Restart;
  readonly stopTimeoutMs?: number;
}
