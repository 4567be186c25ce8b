/** One shared secret in a file, for operators and scripts. Whoever shows it is an admin, for as long as the file holds it. */
import { timingSafeEqual } from "node:crypto";
import { InvalidRequestError } from "@tenure/core";
import { type BearerToken, digestOf } from "./bearer-token.js";
import type { Caller } from "./caller.js";
import { modeWarning } from "./file-mode.js";
import type { AuthDeps } from "./deps.js";
import { isReadError, ReloadedFiles } from "./reloaded-files.js";

const MIN_LENGTH = 16;
const TOKEN = /^[A-Za-z0-9._~+/-]+=*$/;

interface Content {
  /** `null`: no token is in force. */
  readonly digest: Buffer | null;
  readonly warning: string | undefined;
}

export class AdminToken implements AsyncDisposable {
  static readonly caller: Caller = Object.freeze({
    kind: "admin-token",
    role: "admin",
    name: "admin-token",
  });
  readonly #file: ReloadedFiles<Content>;

  private constructor(file: ReloadedFiles<Content>) {
    this.#file = file;
  }

  static async open(path: string, { clock, log, onRevoked }: AuthDeps): Promise<AdminToken> {
    const file: ReloadedFiles<Content> = await ReloadedFiles.open<Content>({
      paths: [path],
      clock,
      parse: async ([content]) => ({
        digest: parseAdminToken(content as Buffer, path),
        warning: await modeWarning(path),
      }),
      onChange: ({ warning }) => {
        onRevoked?.();
        log.info(`${path} has changed: the new admin token is in use`);
        if (warning !== undefined) log.warn(warning);
      },
      // The token in force is the one in the file. A file that is gone or holds no token revokes it. One that cannot be read
      // just now (too many open files, a disk that fails) says nothing.
      fallback: (isGone, error) =>
        isGone || !isReadError(error) ? { digest: null, warning: undefined } : undefined,
      onRefused: (error) => {
        const isRevoked = file.current.digest === null;
        log.warn(
          isRevoked
            ? `${error.message}; the admin token is revoked until the file contains a token again`
            : `${error.message}; the previous admin token stays in use`,
        );
        if (isRevoked) onRevoked?.();
      },
    });
    if (file.current.warning !== undefined) log.warn(file.current.warning);
    return new AdminToken(file);
  }

  /** A sentence to print if others may read the file. */
  get warning(): string | undefined {
    return this.#file.current.warning;
  }

  /** In a time that tells nothing about the token: digests are compared, all of them to the end. */
  matches(token: BearerToken): boolean {
    const { digest } = this.#file.current;
    return digest !== null && timingSafeEqual(token.digest, digest);
  }

  /** Looks now whether the file has changed. */
  look(): Promise<void> {
    return this.#file.look();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file[Symbol.asyncDispose]();
  }
}

/** The digest of the token; the token itself is not kept. */
function parseAdminToken(content: Buffer, path: string): Buffer {
  const token = content.toString("utf8").trim();
  if (token.length < MIN_LENGTH) {
    throw new InvalidRequestError(
      path,
      `contains ${token.length} characters; an admin token needs at least ${MIN_LENGTH} (openssl rand -hex 32)`,
    );
  }
  if (!TOKEN.test(token)) {
    throw new InvalidRequestError(
      path,
      "must contain only one token of the characters A-Z a-z 0-9 . _ ~ + / -",
    );
  }
  return digestOf(token);
}
