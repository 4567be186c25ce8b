import type { JSX } from "preact";

export interface StrategyFieldProps {
  readonly value: string;
  readonly onChange: (strategy: string) => void;
}

/** Which of the waiting candidates wins. */
export function StrategyField({ value, onChange }: StrategyFieldProps): JSX.Element {
  return (
    <label class="field">
      <span>Candidate selection</span>
      <select name="strategy" value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        <option value="first">first come, first served</option>
        <option value="priority">highest priority</option>
      </select>
    </label>
  );
}
