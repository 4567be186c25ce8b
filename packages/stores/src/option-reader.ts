/**
 * Reads the options of a store. All engines refuse the same mistake in the same words: the name of the option, what is allowed,
 * and never the value, which may be a password.
 */
import { InvalidRequestError } from "@tenure/core";
import { checkInteger, isObject } from "@tenure/core/internal";
import type { ServerAddress } from "./server-url.js";
import type { TlsFiles } from "./tls-files.js";

/** `host`, `host:port` or its two parts. A host that begins with a slash is the directory of a Unix socket (PostgreSQL). */
export type ServerOption = string | ServerAddress;

/** `true`: TLS with the certificate authorities of the system. `false`: no TLS. Files: TLS with them. */
export type TlsOption = boolean | TlsFiles;

export interface Login {
  readonly user: string;
  readonly password: string;
}

export interface Bounds {
  readonly min: number;
  readonly max: number;
}

const SERVER = /^(\[[0-9a-f:.]+\]|[^:[\]\s/@?#,]+)(?::(\d{1,5}))?$/i;
const PORT: Bounds = { min: 1, max: 65_535 };
const TLS_FILES = ["ca", "cert", "key"] as const;

export class OptionReader<Options extends object> {
  readonly #given: Readonly<Record<string, unknown>>;

  /** Throws if an option is not one of `known`. */
  constructor(given: Options, known: readonly (keyof Options & string)[]) {
    if (!isObject(given)) throw new InvalidRequestError("options", "must be an object");
    this.#given = given;
    for (const name of Object.keys(given)) {
      if (!(known as readonly string[]).includes(name)) throw unknown(name, known);
    }
  }

  has(name: keyof Options & string): boolean {
    return this.#given[name] !== undefined;
  }

  text(name: keyof Options & string): string | undefined {
    return checkText(this.#given[name], name);
  }

  flag(name: keyof Options & string): boolean | undefined {
    const value = this.#given[name];
    if (value === undefined || typeof value === "boolean") return value;
    throw new InvalidRequestError(name, "must be true or false");
  }

  integer(name: keyof Options & string, { min, max }: Bounds): number | undefined {
    const value = this.#given[name];
    return value === undefined ? undefined : checkInteger(value, name, min, max);
  }

  /** Throws unless there is at least one server. */
  servers(name: keyof Options & string, defaultPort: number): readonly ServerAddress[] {
    const value = this.#given[name];
    if (!Array.isArray(value) || value.length === 0) {
      throw new InvalidRequestError(name, "must be a list of at least one server");
    }
    return value.map((server: unknown, i) => checkServer(server, `${name}[${i}]`, defaultPort));
  }

  /** `user` and `password`, which must be given together. */
  login(): Login | undefined {
    const given = this.#given;
    const [user, password] = [checkText(given["user"], "user"), checkText(given["password"], "password")];
    if (user === undefined && password === undefined) return undefined;
    if (user === undefined) throw together("user", "password");
    if (password === undefined) throw together("password", "user");
    return { user, password };
  }

  /** `undefined` if nothing is said; `null` for no TLS. */
  tls(): TlsFiles | null | undefined {
    const value = this.#given["tls"];
    if (value === undefined) return undefined;
    if (typeof value === "boolean") return value ? {} : null;
    if (!isObject(value))
      throw new InvalidRequestError("tls", "must be true, false or an object with ca, cert and key");
    for (const name of Object.keys(value)) {
      if (!(TLS_FILES as readonly string[]).includes(name)) throw unknown(`tls.${name}`, TLS_FILES);
    }
    const files: { -readonly [Name in keyof TlsFiles]: string } = {};
    for (const name of TLS_FILES) {
      const file = checkText(value[name], `tls.${name}`);
      if (file !== undefined) files[name] = file;
    }
    if (files.cert === undefined && files.key !== undefined) throw together("tls.cert", "tls.key");
    if (files.key === undefined && files.cert !== undefined) throw together("tls.key", "tls.cert");
    return files;
  }

  /** Throws if one of `names` is given along with `owner`, which settles them. */
  excludes(owner: keyof Options & string, names: readonly (keyof Options & string)[]): void {
    const given = this.has(owner) ? names.find((name) => this.has(name)) : undefined;
    if (given !== undefined) {
      throw new InvalidRequestError(given, `must not be given together with \`${owner}\`; remove it`);
    }
  }
}

/** `host:port`, with an IPv6 address in brackets. */
export function serverName({ host, port }: ServerAddress): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

function checkText(value: unknown, field: string): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value === "string" && value !== "" && !value.includes("\0")) return value;
  throw new InvalidRequestError(field, "must be a string that is not empty and has no U+0000");
}

function checkServer(server: unknown, field: string, defaultPort: number): ServerAddress {
  if (typeof server === "string") {
    const [, host, port = String(defaultPort)] = SERVER.exec(server) ?? [];
    if (host === undefined)
      throw new InvalidRequestError(field, "must be host or host:port, without a scheme");
    return { host: host.replace(/^\[|\]$/g, ""), port: checkPort(Number(port), field) };
  }
  const { host, port } = (server ?? {}) as Partial<ServerAddress>;
  if (typeof host !== "string" || host === "") {
    throw new InvalidRequestError(`${field}.host`, "must be a host name or an address");
  }
  return { host, port: checkPort(port, `${field}.port`) };
}

function checkPort(port: unknown, field: string): number {
  return checkInteger(port, field, PORT.min, PORT.max);
}

function unknown(name: string, known: readonly string[]): InvalidRequestError {
  return new InvalidRequestError(name, `is not an option of this store; the options are ${known.join(", ")}`);
}

function together(missing: string, given: string): InvalidRequestError {
  return new InvalidRequestError(missing, `must be given together with \`${given}\``);
}
