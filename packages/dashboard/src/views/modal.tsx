import type { ComponentChildren, JSX, RefObject } from "preact";
import { useEffect } from "preact/hooks";

export interface ModalProps {
  readonly dialog: RefObject<HTMLDialogElement | null>;
  readonly title: string;
  readonly children: ComponentChildren;
  /** After it has closed; the browser gives the focus back to where it was. */
  readonly onClose: () => void;
}

/** Over the page, until it is closed. */
export function Modal({ dialog, title, children, onClose }: ModalProps): JSX.Element {
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} aria-labelledby="modal-title" onClose={onClose}>
      <h2 id="modal-title">{title}</h2>
      {children}
    </dialog>
  );
}
