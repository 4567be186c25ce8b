import { useEffect, useState } from "preact/hooks";
import type { Dashboard } from "../live/dashboard.js";

/** Draws anew when something has changed, at most once a frame. */
export function useDashboard(dashboard: Dashboard): void {
  const [, setTurn] = useState(0);
  useEffect(() => dashboard.subscribe(() => setTurn((turn) => turn + 1)), [dashboard]);
}

/** Draws anew every second: for what only time changes. */
export function useSeconds(): void {
  const [, setTurn] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setTurn((turn) => turn + 1), 1000);
    return () => clearInterval(timer);
  }, []);
}
