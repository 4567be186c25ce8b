import { InvalidRequestError } from "@tenure/core";

export interface ServerAddress {
  readonly host: string;
  readonly port: number;
}

/** `scheme://user:password@host:port,host:port/path?name=value`, taken apart. */
export interface ServerUrl {
  readonly servers: readonly ServerAddress[];
  readonly user: string | undefined;
  readonly password: string | undefined;
  /** Decoded, without its leading slash; empty if there is none. */
  readonly path: string;
  readonly parameters: ReadonlyMap<string, string>;
}

export interface ServerUrlShape {
  readonly defaultPort: number;
  /** Every parameter there is; any other is refused by name. */
  readonly parameters: readonly string[];
}

const SHAPE = /^[a-z][a-z0-9+.-]*:\/\/(?:([^@/?#]*)@)?([^/?#]*)(?:\/([^?#]*))?(?:\?([^#]*))?$/i;
const SERVER = /^(\[[0-9a-f:.]+\]|[^:[\]\s]+)(?::(\d{1,5}))?$/i;

/** For engines of several servers. The platform's own `URL` knows of one. What is wrong is told without the password. */
export function parseServerUrl(url: string, shape: ServerUrlShape): ServerUrl {
  const match = SHAPE.exec(url);
  if (match === null) throw refused("must look like scheme://host:port,host:port/path?name=value");
  const [, credentials, hosts = "", path = "", query = ""] = match;
  const [user, password] = credentials === undefined ? [] : parseCredentials(credentials);
  return {
    servers: hosts.split(",").map((server) => parseServer(server, shape.defaultPort)),
    user,
    password,
    path: decoded(path, "path"),
    parameters: parseParameters(query, shape.parameters),
  };
}

/** A parameter that is `true` or `false`. */
export function booleanParameter(url: ServerUrl, name: string, otherwise: boolean): boolean {
  const text = url.parameters.get(name);
  if (text === undefined) return otherwise;
  if (text === "true" || text === "false") return text === "true";
  throw refused(`has ${name}=${text}; must be true or false`);
}

/** A parameter that is a whole number within bounds. */
export function numberParameter(
  url: ServerUrl,
  name: string,
  bounds: { readonly least: number; readonly most: number; readonly otherwise: number },
): number {
  const text = url.parameters.get(name);
  if (text === undefined) return bounds.otherwise;
  const number = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (number >= bounds.least && number <= bounds.most) return number;
  throw refused(`has ${name}=${text}; must be a whole number from ${bounds.least} to ${bounds.most}`);
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
