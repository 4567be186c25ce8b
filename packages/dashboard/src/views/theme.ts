/** Light or dark: as the system says, or as the reader has picked in this browser. */
export const THEMES = ["system", "light", "dark"] as const;

export type Theme = (typeof THEMES)[number];

const KEY = "tenure-theme";

export function pickedTheme(): Theme {
  return THEMES.find((theme) => theme === localStorage.getItem(KEY)) ?? "system";
}

export function pickTheme(theme: Theme): void {
  if (theme === "system") localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, theme);
  applyTheme();
}

/** The styles read it from the root; see `tokens.css`. */
export function applyTheme(): void {
  document.documentElement.dataset["theme"] = pickedTheme();
}
