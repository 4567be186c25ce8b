import type { JSX } from "preact";

export function Brand(): JSX.Element {
  return (
    <a class="brand" href="#/" aria-label="Tenure">
      <svg viewBox="0 0 32 32" width="26" height="26" aria-hidden="true">
        <rect width="32" height="32" rx="8" class="brand-field" />
        <path d="M7 20.5h18l1-9-5.500 4L16 8l-4.500 7.500L6 11.500zM8 24.500h16" class="brand-mark" />
      </svg>
      <span class="brand-name">Tenure</span>
    </a>
  );
}
