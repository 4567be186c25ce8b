import type { Clock } from "@tenure/core";

export interface Asking {
  /** Resolves when all have answered or failed, at the limit, or when it was ended. */
  readonly done: Promise<void>;
  /** Nobody is waited for any more; later answers count for nothing. */
  end(): void;
}

/** Asks everybody at once and passes each answer on as it comes. Who does not answer is passed over. */
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
