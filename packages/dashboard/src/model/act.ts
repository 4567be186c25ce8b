/** What an operator asks of the service, and the same as a line for a shell. */

export interface Act {
  readonly method: "POST" | "PATCH" | "DELETE";
  readonly path: string;
  readonly body?: Readonly<Record<string, unknown>>;
  /** The words after `tenure`. */
  readonly command: readonly string[];
}

/** Where a command finds this very server, and whether it must say who it is. */
export interface Target {
  readonly origin: string;
  readonly needsToken: boolean;
}

const PLAIN = /^[\w@%+=:,./-]+$/;

/** As one word of a POSIX shell. */
export function quoted(word: string): string {
  return PLAIN.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

export function asCommand(words: readonly string[], { origin, needsToken }: Target): string {
  const token = needsToken ? ["--token-file", "TOKEN_FILE"] : [];
  const at = words.indexOf("--");
  const target = ["--server", origin, ...token];
  const all = at === -1 ? [...words, ...target] : [...words.slice(0, at), ...target, ...words.slice(at)];
  return ["tenure", ...all].map(quoted).join(" ");
}

export function asCurl({ method, path, body }: Omit<Act, "command">, { origin, needsToken }: Target): string {
  const parts = [`curl -sS -X ${method} ${quoted(origin + path)}`];
  if (needsToken) parts.push(`-H "authorization: Bearer $TENURE_TOKEN"`);
  if (body !== undefined) {
    parts.push("-H content-type:application/json", `-d ${quoted(JSON.stringify(body))}`);
  }
  return parts.join(" \\\n  ");
}
