/** Opens the elector that `--server` or `--store` names, with the credentials of the other flags. All commands use this. */
import { hostname, userInfo } from "node:os";
import { type ElectorAdmin, InvalidRequestError, type Store, StoreElector } from "@tenure/core";
import type { HttpElectorOptions } from "@tenure/client";
import { type Context, contextOf } from "./contexts.js";
import { DEFAULT_SERVER } from "./default-server.js";
import type { Environment } from "./shell.js";

export interface ConnectionFlags {
  readonly server?: string | undefined;
  readonly store?: string | undefined;
  readonly tokenFile?: string | undefined;
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  readonly context?: string | undefined;
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

/** The command line takes precedence over the environment, and that over a context. Each may name a server or a store, not both. */
export function targetOf(flags: ConnectionFlags, env: Environment): Target {
  const { server, store } = flags;
  if (server !== undefined && store !== undefined) {
    throw new InvalidRequestError("store", "cannot be combined with --server; use one of them");
  }
  if (server !== undefined) return serverTarget(server, flags, env);
  if (store !== undefined) return { kind: "store", url: store };
  // A context that the command line names takes precedence over the environment, like every option.
  const isNamed = flags.context !== undefined;
  const serverByEnv = isNamed ? undefined : given(env, "TENURE_SERVER");
  const storeByEnv = isNamed ? undefined : given(env, "TENURE_STORE");
  if (serverByEnv !== undefined && storeByEnv !== undefined) {
    throw new InvalidRequestError(
      "store",
      "is set by TENURE_STORE, and TENURE_SERVER is set too; choose one with --server or --store",
    );
  }
  if (storeByEnv !== undefined) return { kind: "store", url: storeByEnv };
  if (serverByEnv !== undefined) return serverTarget(serverByEnv, flags, env);
  const context = contextOf(flags.context, env);
  if (context?.store !== undefined) return { kind: "store", url: context.store };
  return serverTarget(context?.server ?? DEFAULT_SERVER, flags, env, context ?? {});
}

/** The files of a context are used only with the server of that context, so that its token is not sent to another one. */
export function serverTarget(
  servers: string,
  flags: ConnectionFlags,
  env: Environment,
  context: Context = {},
): Target & { kind: "server" } {
  const access: Record<string, string> = {};
  for (const [name, flag, variable, ofContext] of [
    ["tokenFile", flags.tokenFile, "TENURE_TOKEN_FILE", context.token_file],
    ["caFile", flags.ca, "TENURE_CA", context.ca],
    ["certFile", flags.cert, "TENURE_CERT", context.cert],
    ["keyFile", flags.key, "TENURE_KEY", context.key],
  ] as const) {
    const byEnv = given(env, variable);
    const value = flag ?? (flags.context === undefined ? (byEnv ?? ofContext) : (ofContext ?? byEnv));
    if (value !== undefined) access[name] = value;
  }
  const endpoints = servers.split(",").map((each) => withScheme(each.trim(), "http"));
  return { kind: "server", endpoints, access };
}

/** `localhost:7420` is `http://localhost:7420`. */
export function withScheme(address: string, scheme: "http" | "https"): string {
  return address === "" || /^[a-z][a-z0-9+.-]*:\/\//i.test(address) ? address : `${scheme}://${address}`;
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
  // Without the elections of the client library, which no command but run needs.
  const { HttpElector } = await import("@tenure/client/parts/http");
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
