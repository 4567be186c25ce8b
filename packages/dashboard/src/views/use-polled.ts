import { useEffect, useReducer, useRef } from "preact/hooks";
import { RefusedError } from "../live/api.js";
import type { Dashboard } from "../live/dashboard.js";

export interface Polled<T> {
  /** The last answer; `null`: none yet. */
  readonly value: T | null;
  /** Why there is none, in the service's words. */
  readonly refusal: string | null;
}

/** What a path answers, read again and again while the page is seen and the server answers. */
export function usePolled<T>(dashboard: Dashboard, path: string, everyMs: number): Polled<T> {
  const polled = useRef<{ path: string } & Polled<T>>({ path, value: null, refusal: null });
  const [, draw] = useReducer((turn: number, _: void) => turn + 1, 0);
  useEffect(() => {
    let isOver = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const read = async (): Promise<void> => {
      const isSeen = document.visibilityState === "visible" && dashboard.status.kind === "live";
      try {
        if (isSeen) {
          const value = await dashboard.api.get<T>(path);
          if (!isOver) polled.current = { path, value, refusal: null };
        }
      } catch (error) {
        if (!isOver && error instanceof RefusedError)
          polled.current = { path, value: null, refusal: error.message };
      }
      if (isOver) return;
      draw();
      const { path: answered, value, refusal } = polled.current;
      const isAnswered = answered === path && (value !== null || refusal !== null);
      timer = setTimeout(() => void read(), isAnswered ? everyMs : RETRY_MS);
    };
    void read();
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [dashboard, path, everyMs]);
  return polled.current.path === path ? polled.current : { value: null, refusal: null };
}

const RETRY_MS = 500;
