import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { briefly } from "../model/format.js";

export interface LeaseBarProps {
  /** On the service's clock; `null`: a leader that has just won, whose lease was not read yet. */
  readonly expiresAtMs: number | null;
  /** What a full bar stands for. */
  readonly ttlMs: number;
  readonly serverMs: number;
  /** While the server is lost nobody knows: the bar stands still. */
  readonly isLive: boolean;
}

const calm = matchMedia("(prefers-reduced-motion: reduce)");

/** Drains by an animation that the compositor runs: no frame costs the page anything. */
export function LeaseBar({ expiresAtMs, ttlMs, serverMs, isLive }: LeaseBarProps): JSX.Element {
  const fill = useRef<HTMLSpanElement>(null);
  const leftMs = expiresAtMs === null ? 0 : expiresAtMs - serverMs;
  const share = expiresAtMs === null ? 1 : ttlMs <= 0 ? 0 : Math.min(1, Math.max(0, leftMs / ttlMs));
  useLayoutEffect(() => {
    const element = fill.current;
    if (element === null) return;
    element.style.transform = `scaleX(${share.toFixed(4)})`;
    if (!isLive || calm.matches || leftMs <= 0) return;
    const steps = [{ transform: `scaleX(${share})` }, { transform: "scaleX(0)" }];
    const animation = element.animate(steps, { duration: leftMs, fill: "forwards" });
    return () => animation.cancel();
  }, [expiresAtMs, ttlMs, isLive]);
  const [tone, text] =
    expiresAtMs === null
      ? ["new", "new"]
      : leftMs <= 0
        ? ["over", "expired"]
        : [share < 0.34 ? "low" : "", briefly(leftMs)];
  return (
    <span class={`lease ${tone}`}>
      <span class="lease-track" aria-hidden="true">
        <span ref={fill} class="lease-fill" />
      </span>
      <span class="lease-text">{text}</span>
    </span>
  );
}
