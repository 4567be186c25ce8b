import type { JSX } from "preact";

export interface DurationFieldProps {
  readonly label: string;
  readonly hint?: string;
  readonly value: string;
  readonly onChange: (text: string) => void;
}

/** A duration as people write it: 250ms, 5s, 2m. */
export function DurationField({ label, hint, value, onChange }: DurationFieldProps): JSX.Element {
  return (
    <label class="field">
      <span>
        {label}
        {hint !== undefined && <span class="muted"> ({hint})</span>}
      </span>
      <input
        autocomplete="off"
        placeholder="30s, 5m, 1h"
        value={value}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
    </label>
  );
}
