import type { ComponentChildren, JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { LostError } from "../live/api.js";
import { type Act, asCommand, asCurl, type Target } from "../model/act.js";
import { CopyButton } from "./copy-button.js";
import { Modal } from "./modal.js";
import { sentence } from "./sign-in.js";

export interface ActDialogProps {
  readonly title: string;
  /** What will happen, and what will not. */
  readonly consequence: string;
  readonly confirm: string;
  readonly isGrave?: boolean;
  /** The fields of the act, if it has any. */
  readonly children?: ComponentChildren;
  /** Why it cannot be done as filled in. It is shown when the reader tries. */
  readonly problem?: string | null;
  /** Whether the service insists on a reason. */
  readonly reason: "required" | "optional";
  readonly act: (reason: Reason) => Act;
  readonly target: Target;
  /** Resolves when the service has done it. */
  readonly send: (act: Act) => Promise<void>;
  readonly onClose: () => void;
}

/** The field and the option of a reason, where one was given. */
export interface Reason {
  readonly field: { readonly reason?: string };
  readonly option: readonly string[];
}

const UNANSWERED = "no response, so the outcome is unknown; check the group before you try again";

/** Nothing is done before it has been said what happens, and it was confirmed. */
export function ActDialog(props: ActDialogProps): JSX.Element {
  const {
    title,
    consequence,
    confirm,
    isGrave = false,
    children,
    problem = null,
    reason,
    act,
    target,
  } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState("");
  const [isActing, setActing] = useState(false);
  const [wasTried, setTried] = useState(false);
  const [refusal, setRefusal] = useState<string | null>(null);
  const given = text.trim();
  const asked = act(
    given === "" ? { field: {}, option: [] } : { field: { reason: given }, option: ["--reason", given] },
  );
  const submit = (event: Event): void => {
    event.preventDefault();
    setTried(true);
    setRefusal(null);
    if (problem !== null) return;
    setActing(true);
    // Closing gives the focus back to where it was; `onClose` follows from it.
    props.send(asked).then(
      () => dialog.current?.close(),
      (error: unknown) => {
        setActing(false);
        setRefusal(error instanceof LostError ? UNANSWERED : (error as Error).message);
      },
    );
  };
  const wrong = refusal ?? (wasTried ? problem : null);
  return (
    <Modal dialog={dialog} title={title} onClose={props.onClose}>
      <form onSubmit={submit}>
        <p>{consequence}</p>
        {children}
        <label class="field">
          <span>
            Reason <span class="muted">({reason}; shown in the history and in Activity)</span>
          </span>
          <input
            name="reason"
            required={reason === "required"}
            maxLength={500}
            autocomplete="off"
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
        </label>
        <p class="problem" role="alert">
          {wrong === null ? "" : sentence(wrong)}
        </p>
        <div class="dialog-end">
          <span class="copies">
            <CopyButton
              text={asCommand(asked.command, target)}
              label="Copy as CLI"
              what="as a tenure command"
            />
            <CopyButton text={asCurl(asked, target)} label="Copy as curl" what="as a curl command" />
          </span>
          <button type="button" onClick={() => dialog.current?.close()}>
            Cancel
          </button>
          <button type="submit" class={isGrave ? "grave" : "primary"} disabled={isActing}>
            {isActing ? "Working …" : confirm}
          </button>
        </div>
      </form>
    </Modal>
  );
}
