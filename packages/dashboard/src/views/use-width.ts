import { useLayoutEffect, useState } from "preact/hooks";

/** The width of an element, so that a chart is drawn at its true size and its text is never scaled. */
export function useWidth(initialPx: number): [(element: HTMLElement | null) => void, number] {
  const [element, setElement] = useState<HTMLElement | null>(null);
  const [widthPx, setWidthPx] = useState(initialPx);
  useLayoutEffect(() => {
    if (element === null) return;
    const measure = (): void => setWidthPx(Math.max(200, Math.floor(element.clientWidth)));
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    measure();
    return () => observer.disconnect();
  }, [element]);
  return [setElement, widthPx];
}
