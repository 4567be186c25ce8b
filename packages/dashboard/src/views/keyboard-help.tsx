import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Modal } from "./modal.js";

const KEYS: readonly (readonly [string, string])[] = [
  ["?", "this help"],
  ["/", "search groups and leaders"],
  ["j k, ↓ ↑", "next and previous group"],
  ["PageDown PageUp, Home End", "further in the list"],
  ["Enter", "open the group"],
  ["← →", "next mark of a timeline or chart that has the focus"],
  ["Esc", "close a dialog"],
];

/** Whether a key belongs to what the reader is doing: typing, or a dialog. */
export function isTyping(event: KeyboardEvent): boolean {
  const { target } = event;
  const isField = target instanceof HTMLElement && target.matches("input, textarea, select");
  return (
    isField ||
    event.ctrlKey ||
    event.metaKey ||
    event.altKey ||
    document.querySelector("dialog[open]") !== null
  );
}

/** A button, and the key `?` on every page. */
export function KeyboardHelp(): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key === "?" && !isTyping(event)) setOpen(true);
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  return (
    <>
      <button
        type="button"
        class="quiet help"
        aria-label="Keyboard shortcuts"
        title="Keyboard shortcuts (?)"
        aria-keyshortcuts="?"
        onClick={() => setOpen(true)}
      >
        ?
      </button>
      {isOpen && (
        <Modal dialog={dialog} title="Keyboard shortcuts" onClose={() => setOpen(false)}>
          <dl class="keys">
            {KEYS.map(([key, does]) => (
              <div key={key}>
                <dt>{key}</dt>
                <dd>{does}</dd>
              </div>
            ))}
          </dl>
          <div class="dialog-end">
            <button type="button" class="primary" onClick={() => dialog.current?.close()}>
              Close
            </button>
          </div>
        </Modal>
      )}
    </>
  );
}
