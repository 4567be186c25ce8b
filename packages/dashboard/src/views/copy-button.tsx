import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";

const SAID_MS = 2000;

/** Copies a text, and says so. */
export function CopyButton({ text, label = "Copy", what }: CopyButtonProps): JSX.Element {
  const [outcome, setOutcome] = useState<"Copied" | "Not copied" | null>(null);
  useEffect(() => {
    if (outcome === null) return;
    const timer = setTimeout(() => setOutcome(null), SAID_MS);
    return () => clearTimeout(timer);
  }, [outcome]);
  return (
    <button
      type="button"
      class="copy"
      aria-label={label === "" ? (outcome ?? `Copy ${what}`) : undefined}
      title={`Copy ${what}`}
      onClick={() => void copy(text).then((isDone) => setOutcome(isDone ? "Copied" : "Not copied"))}
    >
      <svg viewBox="0 0 16 16" width="13" height="13" aria-hidden="true">
        <path
          d={
            outcome === "Copied"
              ? "M2.5 8.5l3.500 3.500 7.500-8"
              : "M5.500 5.500v-3h8v8h-3M2.500 5.500h8v8h-8z"
          }
          fill="none"
          stroke="currentColor"
          stroke-width="1.500"
        />
      </svg>
      {label !== "" && <span aria-live="polite">{outcome ?? label}</span>}
    </button>
  );
}

export interface CopyButtonProps {
  readonly text: string;
  /** "": only the sign. */
  readonly label?: string;
  /** For its tooltip and for screen readers: "the group id". */
  readonly what: string;
}

/** Browsers have a clipboard only on a page from this machine or over TLS; elsewhere a selected text can be copied. */
async function copy(text: string): Promise<boolean> {
  if (window.isSecureContext) {
    return navigator.clipboard.writeText(text).then(
      () => true,
      () => false,
    );
  }
  const field = document.createElement("textarea");
  field.value = text;
  (document.querySelector("dialog[open]") ?? document.body).append(field);
  field.select();
  // oxlint-disable-next-line typescript/no-deprecated -- the only way on a page without TLS
  const isDone = document.execCommand("copy");
  field.remove();
  return isDone;
}
