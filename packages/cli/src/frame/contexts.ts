/** The configuration file: named contexts, each with a server or a store and the files of its credentials. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { InvalidRequestError } from "@tenure/core";
import { isObject } from "@tenure/core/internal";
import { nearest, suggestion } from "./near.js";
import type { Environment } from "./shell.js";

/** What a context may set, as in the file. */
const CONTEXT_FIELDS = ["server", "store", "token_file", "ca", "cert", "key"] as const;

export type ContextField = (typeof CONTEXT_FIELDS)[number];
export type Context = Readonly<Partial<Record<ContextField, string>>>;

export interface ConfigFile {
  readonly current: string | null;
  readonly contexts: ReadonlyMap<string, Context>;
}

const EMPTY: ConfigFile = { current: null, contexts: new Map() };

/** `TENURE_CONFIG`, otherwise `tenure/config.json` in the directory for configuration; `null` where the user has none. */
export function configPath(env: Environment): string | null {
  const given = env["TENURE_CONFIG"] ?? "";
  if (given !== "") return given;
  const xdg = env["XDG_CONFIG_HOME"] ?? "";
  if (xdg !== "") return join(xdg, "tenure", "config.json");
  const home = env["HOME"] ?? env["USERPROFILE"] ?? "";
  return home === "" ? null : join(home, ".config", "tenure", "config.json");
}

/** An empty configuration if there is no file. */
export function readConfig(path: string | null): ConfigFile {
  if (path === null) return EMPTY;
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return EMPTY;
    throw new InvalidRequestError(path, `cannot be read: ${(cause as Error).message}`, { cause });
  }
  return parseConfig(path, text);
}

/** The context that `--context` or `TENURE_CONTEXT` names, otherwise the current one; `null` if there is none. */
export function contextOf(name: string | undefined, env: Environment): Context | null {
  const byEnv = env["TENURE_CONTEXT"] ?? "";
  const wanted = name ?? (byEnv === "" ? undefined : byEnv);
  const path = configPath(env);
  const { current, contexts } = readConfig(path);
  const chosen = wanted ?? current;
  if (chosen === null) return null;
  const found = contexts.get(chosen);
  if (found !== undefined) return found;
  throw noContext(chosen, contexts, path);
}

export function noContext(
  name: string,
  contexts: ReadonlyMap<string, Context>,
  path: string | null,
): InvalidRequestError {
  const next = suggestion(
    nearest(name, contexts.keys()),
    "list the contexts with tenure config get-contexts",
  );
  return new InvalidRequestError(
    "context",
    `is ${name}, which ${path ?? "the configuration"} does not have; ${next}`,
  );
}

export function configText({ current, contexts }: ConfigFile): string {
  return `${JSON.stringify({ current_context: current, contexts: Object.fromEntries(contexts) }, null, 2)}\n`;
}

function parseConfig(path: string, text: string): ConfigFile {
  const fail = (problem: string, cause?: unknown): InvalidRequestError =>
    new InvalidRequestError(
      path,
      `${problem}; fix the file, or delete it and use tenure config set-context`,
      {
        cause,
      },
    );
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw fail(`is not JSON: ${(cause as Error).message}`, cause);
  }
  if (!isObject(value)) throw fail("must be a JSON object");
  const { current_context: current = null, contexts = {}, ...unknown } = value;
  const [extra] = Object.keys(unknown);
  if (extra !== undefined) throw fail(`has the unknown field ${extra}`);
  if (current !== null && typeof current !== "string") throw fail("current_context must be a string or null");
  if (!isObject(contexts)) throw fail("contexts must be an object");
  return {
    current,
    contexts: new Map(Object.entries(contexts).map(([name, each]) => [name, checked(name, each)])),
  };

  function checked(name: string, context: unknown): Context {
    if (!isObject(context)) throw fail(`contexts.${name} must be an object`);
    for (const [field, each] of Object.entries(context)) {
      if (!CONTEXT_FIELDS.some((known) => known === field)) {
        throw fail(`contexts.${name} has the unknown field ${field}; known are ${CONTEXT_FIELDS.join(", ")}`);
      }
      if (typeof each !== "string" || each === "") {
        throw fail(`contexts.${name}.${field} must be a non-empty string`);
      }
    }
    const { server, store } = context;
    if (server !== undefined && store !== undefined) {
      throw fail(`contexts.${name} has both server and store; remove one of them`);
    }
    return context;
  }
}
