import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Dashboard } from "../live/dashboard.js";
import { Brand } from "./brand.js";

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
        <Brand />
        <h1>Sign in to Tenure</h1>
        {wasTried ? (
          <p class="problem" role="alert">
            <strong>That token is not valid.</strong> {sentence(problem)}
          </p>
        ) : (
          <p class="muted">Sign in to continue.</p>
        )}
        <label class="field">
          <span>Token</span>
          <input
            ref={input}
            type="password"
            name="token"
            required
            spellcheck={false}
            value={token}
            onInput={(event) => setToken(event.currentTarget.value)}
          />
        </label>
        <button type="submit" class="primary">
          Sign in
        </button>
        <p class="muted small">
          The admin token or a JWT. The token stays in this tab, is sent only as a header, and is forgotten
          when the tab is closed. To use a client certificate instead, install it in your browser and reload
          this page.
        </p>
        {!wasTried && <p class="muted small">The server answered: {sentence(problem)}</p>}
      </form>
    </main>
  );
}

export function sentence(text: string): string {
  const begun = capitalized(text);
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}

export function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
