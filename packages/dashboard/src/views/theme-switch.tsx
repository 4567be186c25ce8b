import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { pickedTheme, pickTheme, type Theme, THEMES } from "./theme.js";

const NAMES: Readonly<Record<Theme, string>> = { system: "Auto", light: "Light", dark: "Dark" };

export function ThemeSwitch(): JSX.Element {
  const [theme, setTheme] = useState<Theme>(pickedTheme);
  return (
    <select
      class="theme"
      aria-label="Theme"
      title="Theme; Auto follows the system"
      value={theme}
      onChange={({ currentTarget: { value } }) => {
        pickTheme(value as Theme);
        setTheme(value as Theme);
      }}
    >
      {THEMES.map((each) => (
        <option key={each} value={each}>
          {NAMES[each]}
        </option>
      ))}
    </select>
  );
}
