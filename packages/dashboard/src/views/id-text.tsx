import { Fragment, type JSX } from "preact";

/** An id in full. Where it has to break, it breaks after a separator. */
export function IdText({ text }: { text: string }): JSX.Element {
  const parts = text.split(/(?<=[-./_:])/);
  return (
    <span class="id-text">
      {parts.map((part, i) => (
        <Fragment key={i}>
          {i > 0 && <wbr />}
          {part}
        </Fragment>
      ))}
    </span>
  );
}
