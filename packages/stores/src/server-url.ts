import { InvalidRequestError } from "@tenure/core";
import type { Bounds, TlsOption } from "./option-reader.js";

export interface ServerAddress {
  readonly host: string;
  readonly port: number;
}

/** Options as a URL gives them: every server has its port. */
export type FromUrl<Options> = Omit<Options, "servers"> & { readonly servers: readonly ServerAddress[] };

export interface ServerUrlShape {
  readonly defaultPort: number;
  /** All known parameters; any other is refused by name. */
  readonly parameters: readonly string[];
}

const SHAPE = /^[a-z][a-z0-9+.-]*:\/\/(?:([^@/?#]*)@)?([^/?#]*)(?:\/([^?#]*))?(?:\?([^#]*))?$/i;
const SERVER = /^(\[[0-9a-f:.]+\]|[^:[\]\s]+)(?::(\d{1,5}))?$/i;
export const TLS_PARAMETERS: readonly string[] = ["tls", "ca", "cert", "key"];

/**
 * The parts of `scheme://user:password@host:port,host:port/path?name=value`, for engines of several servers, which the platform's
 * own `URL` does not support. No error contains the password.
 */
export class ServerUrl {
  readonly servers: readonly ServerAddress[];
  readonly user: string | undefined;
  readonly password: string | undefined;
  /** Decoded, without its leading slash; `undefined` if there is none. */
  readonly path: string | undefined;
  readonly #parameters: ReadonlyMap<string, string>;

  constructor(url: string, { defaultPort, parameters }: ServerUrlShape) {
    const match = SHAPE.exec(url);
    if (match === null) throw refused("must look like scheme://host:port,host:port/path?name=value");
    const [, credentials, hosts = "", path = "", query = ""] = match;
    [this.user, this.password] = credentials === undefined ? [] : parseCredentials(credentials);
    this.servers = hosts.split(",").map((server) => parseServer(server, defaultPort));
    this.path = path === "" ? undefined : decoded(path, "path");
    this.#parameters = parseParameters(query, parameters);
  }

  /** A parameter as it is; `undefined` if it is left out. */
  text(name: string): string | undefined {
    return this.#parameters.get(name);
  }

  /** A parameter that is `true` or `false`; `undefined` if it is left out. */
  flag(name: string): boolean | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    if (text === "true" || text === "false") return text === "true";
    throw refused(`has ${name}=${text}; must be true or false`);
  }

  /** A parameter that is a whole number within bounds; `undefined` if it is left out. */
  integer(name: string, { min, max }: Bounds): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const number = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (number >= min && number <= max) return number;
    throw refused(`has ${name}=${text}; must be a whole number from ${min} to ${max}`);
  }

  /** Those of the parameters `names` that are set. */
  texts(names: readonly string[]): Readonly<Record<string, string>> {
    return Object.fromEntries([...this.#parameters].filter(([name]) => names.includes(name)));
  }

  /** The parameters `tls`, `ca`, `cert` and `key` (`TLS_PARAMETERS`). A file implies TLS. */
  tls(): TlsOption | undefined {
    const tls = this.flag("tls");
    const files = this.texts(TLS_PARAMETERS.filter((name) => name !== "tls"));
    const [first] = Object.keys(files);
    if (first === undefined) return tls;
    if (tls === false) throw refused(`has ${first} and tls=false; remove one of the two`);
    return files;
  }
}

function parseServer(server: string, defaultPort: number): ServerAddress {
  const [, host, port = String(defaultPort)] = SERVER.exec(server) ?? [];
  if (host === undefined)
    throw refused(`names the server ${JSON.stringify(server)}; must be host or host:port`);
  if (Number(port) < 1 || Number(port) > 65_535) throw refused(`has port ${port}; must be from 1 to 65535`);
  return { host: host.replace(/^\[|\]$/g, ""), port: Number(port) };
}

function parseCredentials(text: string): [string, string | undefined] {
  const [user = "", ...rest] = text.split(":");
  if (user === "") throw refused("has a password without a user before it");
  return [decoded(user, "user"), rest.length === 0 ? undefined : decoded(rest.join(":"), "password")];
}

function parseParameters(query: string, known: readonly string[]): Map<string, string> {
  const parameters = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(query)) {
    if (!known.includes(name)) {
      const choice = known.length === 0 ? "there are none" : `must be one of ${known.join(", ")}`;
      throw refused(`has the parameter ${JSON.stringify(name)}; ${choice}`);
    }
    if (parameters.has(name)) throw refused(`has the parameter ${name} twice`);
    parameters.set(name, value);
  }
  return parameters;
}

function decoded(text: string, part: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw refused(`has a ${part} that is not well percent-encoded`);
  }
}

function refused(problem: string): InvalidRequestError {
  return new InvalidRequestError("store", problem);
}
