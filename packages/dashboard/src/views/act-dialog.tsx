import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { LostError } from "../live/api.js";
import { sentence } from "./sign-in.js";

export interface ActDialogProps {
  readonly title: string;
  /** What will happen, and what will not. */
  readonly consequence: string;
  readonly confirm: string;
  readonly isGrave?: boolean;
  /** The fields of the act, if it has any. */
  readonly children?: ComponentChildren;
  /** Why it cannot be done as filled in. */
  readonly problem?: string | null;
  readonly act: (reason: string) => Promise<void>;
  readonly onClose: () => void;
}

const UNANSWERED = "no response, so the outcome is unknown; check the group before you try again";

/** Nothing is done before it has been said what happens, a reason was given, and it was confirmed. */
export function ActDialog(props: ActDialogProps): JSX.Element {
  const { title, consequence, confirm, isGrave = false, children, problem = null, act, onClose } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const [reason, setReason] = useState("");
  const [isActing, setActing] = useState(false);
  const [refusal, setRefusal] = useState<string | null>(null);
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  const submit = (event: Event): void => {
    event.preventDefault();
    setActing(true);
    setRefusal(null);
    // Closing gives the focus back to where it was; `onClose` follows from it.
    act(reason.trim()).then(
      () => dialog.current?.close(),
      (error: unknown) => {
        setActing(false);
        setRefusal(error instanceof LostError ? UNANSWERED : (error as Error).message);
      },
    );
  };
  return (
    <dialog ref={dialog} aria-labelledby="act-title" aria-describedby="act-consequence" onClose={onClose}>
      <form onSubmit={submit}>
        <h2 id="act-title">{title}</h2>
        <p id="act-consequence">{consequence}</p>
        {children}
        <label class="field">
          <span>Reason</span>
          <input
            name="reason"
            required
            maxLength={500}
            autocomplete="off"
            placeholder="written to the audit log"
            value={reason}
            onInput={(event) => setReason(event.currentTarget.value)}
          />
        </label>
        <p class="problem" role="alert">
          {refusal !== null ? sentence(refusal) : (problem ?? "")}
        </p>
        <div class="dialog-end">
          <button type="button" onClick={() => dialog.current?.close()}>
            Cancel
          </button>
          <button
            type="submit"
            class={isGrave ? "grave" : "primary"}
            disabled={isActing || problem !== null || reason.trim() === ""}
          >
            {isActing ? "Working …" : confirm}
          </button>
        </div>
      </form>
    </dialog>
  );
}
