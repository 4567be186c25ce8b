import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Dashboard } from "../live/dashboard.js";

export function SignIn({ dashboard, problem }: { dashboard: Dashboard; problem: string }): JSX.Element {
  const [token, setToken] = useState("");
  const input = useRef<HTMLInputElement>(null);
  const wasTried = dashboard.session.token !== null;
  useEffect(() => input.current?.focus(), []);
  const submit = (event: Event): void => {
    event.preventDefault();
    if (token.trim() !== "") dashboard.signIn(token);
  };
  return (
    <main class="sign-in">
      <form class="card" onSubmit={submit} autocomplete="off">
        <h1>Sign in to Tenure</h1>
        {wasTried ? (
          <p class="problem" role="alert">
            {sentence(problem)}
          </p>
        ) : (
          <p class="muted">{sentence(problem)}</p>
        )}
        <label class="field">
          <span>Token</span>
          <input
            ref={input}
            type="password"
            name="token"
            spellcheck={false}
            value={token}
            onInput={(event) => setToken(event.currentTarget.value)}
          />
        </label>
        <button type="submit" class="primary" disabled={token.trim() === ""}>
          Sign in
        </button>
        <p class="muted small">
          The admin token or a JWT. The token stays in this tab, is sent only as a header, and is forgotten
          when the tab is closed. To use a client certificate instead, install it in your browser and reload
          this page.
        </p>
      </form>
    </main>
  );
}

export function sentence(text: string): string {
  const begun = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}
