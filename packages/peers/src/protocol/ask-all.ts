import type { Clock } from "@tenure/core";

export interface Asking {
  /** Resolves when all have answered or failed, when the time limit has passed, or when it was ended. */
  readonly done: Promise<void>;
  /** Stops waiting; later answers are ignored. */
  end(): void;
}

/** Asks all endpoints at once and passes on each answer as it arrives. An endpoint that does not answer is skipped. */
export function askAll<T>(
  clock: Clock,
  limitMs: number,
  endpoints: Iterable<string>,
  call: (endpoint: string, signal: AbortSignal) => Promise<T>,
  onAnswer: (answer: T, endpoint: string) => void,
): Asking {
  const controller = new AbortController();
  let finish = (): void => {};
  const done = new Promise<void>((resolve) => {
    finish = resolve;
  });
  let isOver = false;
  const end = (): void => {
    if (isOver) return;
    isOver = true;
    cancel();
    controller.abort(new Error("no longer waited for"));
    finish();
  };
  const cancel = clock.after(limitMs, end);
  let open = 0;
  const settle = (): void => {
    if (--open === 0) end();
  };
  for (const endpoint of endpoints) {
    open++;
    call(endpoint, controller.signal).then((answer) => {
      if (!isOver) onAnswer(answer, endpoint);
      settle();
    }, settle);
  }
  if (open === 0) end();
  return { done, end };
}
