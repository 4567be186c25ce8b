import type { JSX } from "preact";

export interface NodesFieldProps {
  readonly isRestricted: boolean;
  readonly nodes: string;
  readonly onChange: (isRestricted: boolean, nodes: string) => void;
}

/** Which nodes may win a group: every node, or only those of a list. */
export function NodesField({ isRestricted, nodes, onChange }: NodesFieldProps): JSX.Element {
  return (
    <fieldset class="nodes">
      <label class="check">
        <input
          type="checkbox"
          name="restricted"
          checked={isRestricted}
          onChange={(event) => onChange(event.currentTarget.checked, nodes)}
        />
        Only these nodes may win
      </label>
      {isRestricted && (
        <label class="field">
          <span>
            Allowed nodes <span class="muted">(separated by commas; empty: no node may win)</span>
          </span>
          <textarea
            name="nodes"
            rows={2}
            spellcheck={false}
            value={nodes}
            onInput={(event) => onChange(true, event.currentTarget.value)}
          />
        </label>
      )}
    </fieldset>
  );
}
