/** Opens the elector that `--server` or `--store` names, with the credentials of the other flags. All commands use this. */
import { hostname, userInfo } from "node:os";
import { type ElectorAdmin, InvalidRequestError, type Store, StoreElector } from "@tenure/core";
import type { HttpElectorOptions } from "@tenure/client";
import type { Environment } from "./shell.js";

export const DEFAULT_SERVER = "http://127.0.0.1:7420";

export interface ConnectionFlags {
  readonly server?: string | undefined;
  readonly store?: string | undefined;
  readonly tokenFile?: string | undefined;
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
}

/** The service or the store that a command uses. */
export type Target =
  | { readonly kind: "server"; readonly endpoints: readonly string[]; readonly access: Access }
  | { readonly kind: "store"; readonly url: string };

export interface Access {
  readonly tokenFile?: string;
  readonly caFile?: string;
  readonly certFile?: string;
  readonly keyFile?: string;
}

export interface Connection extends AsyncDisposable {
  readonly target: Target;
  readonly elector: ElectorAdmin;
  close(): Promise<void>;
}

/** The command line takes precedence over the environment. Each may name a server or a store, not both. */
export function targetOf(flags: ConnectionFlags, env: Environment): Target {
  const { server, store } = flags;
  if (server !== undefined && store !== undefined) {
    throw new InvalidRequestError("store", "cannot be combined with --server; use one of them");
  }
  if (server !== undefined) return serverTarget(server, flags, env);
  if (store !== undefined) return { kind: "store", url: store };
  const [serverByEnv, storeByEnv] = [given(env, "TENURE_SERVER"), given(env, "TENURE_STORE")];
  if (serverByEnv !== undefined && storeByEnv !== undefined) {
    throw new InvalidRequestError(
      "store",
      "is set by TENURE_STORE, and TENURE_SERVER is set too; choose one with --server or --store",
    );
  }
  if (storeByEnv !== undefined) return { kind: "store", url: storeByEnv };
  return serverTarget(serverByEnv ?? DEFAULT_SERVER, flags, env);
}

export function serverTarget(
  servers: string,
  flags: ConnectionFlags,
  env: Environment,
): Target & { kind: "server" } {
  const access: Record<string, string> = {};
  for (const [name, value] of [
    ["tokenFile", flags.tokenFile ?? given(env, "TENURE_TOKEN_FILE")],
    ["caFile", flags.ca ?? given(env, "TENURE_CA")],
    ["certFile", flags.cert ?? given(env, "TENURE_CERT")],
    ["keyFile", flags.key ?? given(env, "TENURE_KEY")],
  ] as const) {
    if (value !== undefined) access[name] = value;
  }
  return { kind: "server", endpoints: servers.split(",").map((each) => each.trim()), access };
}

export async function openConnection(flags: ConnectionFlags, env: Environment): Promise<Connection> {
  return openTarget(targetOf(flags, env));
}

export async function openTarget(target: Target): Promise<Connection> {
  return target.kind === "server" ? openServer(target) : openStoreElector(target);
}

/** Each client library is loaded only when it is needed, so that commands start fast. */
async function openServer(target: Target & { kind: "server" }): Promise<Connection> {
  const { tokenFile, ...files } = target.access;
  const options: HttpElectorOptions = {
    endpoints: target.endpoints,
    ...(tokenFile === undefined ? {} : { tokenFile }),
    tls: files,
  };
  const { HttpElector } = await import("@tenure/client");
  const elector = await HttpElector.open(options);
  const close = (): Promise<void> => elector.close();
  return { target, elector, close, [Symbol.asyncDispose]: close };
}

async function openStoreElector(target: Target & { kind: "store" }): Promise<Connection> {
  const { openStore } = await import("@tenure/stores");
  const store: Store = await openStore(target.url);
  const elector = StoreElector.open({ store, keepMembers: true });
  const close = async (): Promise<void> => {
    await elector.close();
    await store.close();
  };
  return { target, elector, close, [Symbol.asyncDispose]: close };
}

/** An empty variable counts as not set. */
function given(env: Environment, name: string): string | undefined {
  const text = env[name] ?? "";
  return text === "" ? undefined : text;
}

/** A name of the machine as an id: other characters are replaced. */
export function asId(text: string, otherwise: string): string {
  const id = text.replaceAll(/[^A-Za-z0-9._:/-]/g, "_").slice(0, 200);
  return id === "" || id === "." || id === ".." ? otherwise : id;
}

export function defaultNodeId(): string {
  return asId(hostname(), "localhost");
}

/** The operator in the events of a group. A server uses the name in the credentials instead. */
export function defaultOperator(): string {
  try {
    return asId(userInfo().username, "operator");
  } catch {
    // The user has no entry in the password file, as in many containers.
    return "operator";
  }
}
