import type { LeaseTime } from "@tenure/client";

/** A child of the supervisor: something that runs in one term, can be asked to end, and perhaps be killed. */

/** `permanent`: always restarted. `transient`: restarted unless it ended without an error. `temporary`: never restarted. */
export type Restart = "permanent" | "transient" | "temporary";

export interface ChildContext {
  /** Send it with every write, so that a resource that has seen a higher term refuses it. */
  readonly term: number;
  /** Aborts when the child has to end. */
  readonly signal: AbortSignal;
  /** How long the child may take to end. */
  readonly lease: LeaseTime;
}

export interface RunningChild {
  /** Settles when nothing of the child runs any more: resolves if it ended without an error, rejects if it crashed. */
  readonly ended: Promise<void>;
  /** Asks it to end, like the signal of its context. Its return value is not awaited: `ended` shows the end. */
  stop?(): unknown;
  /** Kills it. A child that runs in this thread has no such function. */
  kill?(): void;
}

export interface ChildSpec {
  /** The name of the child in events and log lines; unique within one supervisor. */
  readonly id: string;
  /** Resolves when the child has started; the next child is started then. A rejection counts as a crash. */
  start(context: ChildContext): RunningChild | Promise<RunningChild>;
  /** When the child is restarted after it ended by itself. @defaultValue `permanent` */
  readonly restart?: Restart;
  /**
   * How long it may take to end before it is killed, in milliseconds; less if the lease ends sooner. `Infinity`: without a
   * limit. Too small: children are killed in the middle of their cleanup.
   *
   * @defaultValue 5000
   */
  readonly stopTimeoutMs?: number;
}

/** The options that all kinds of children share; see `ChildSpec`. */
export interface ChildOptions {
  /** When the child is restarted after it ended by itself. @defaultValue `permanent` */
  readonly restart?: Restart;
  /** How long the child may take to end before it is killed, in milliseconds. @defaultValue 5000 */
  readonly stopTimeoutMs?: number;
}
