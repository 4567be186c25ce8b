/** A caller of the peers' routes with a bundle: the first server that answers is asked. */
import { readFile } from "node:fs/promises";
import { BackendUnavailableError, InvalidRequestError } from "@tenure/core";
import type { CallAnswer } from "@tenure/peers";
import type { Shell } from "../frame/shell.js";

export interface TcFlags {
  readonly server?: string;
  readonly bundle?: string;
  readonly json?: true;
}

/** Of one server; where several are given, a server that hangs leaves time for the next. */
const LIMIT_MS = 30_000;
const LIMIT_OF_SEVERAL_MS = 10_000;
const DEFAULT_SERVER = "https://127.0.0.1:7420";

export class TcClient {
  readonly #shell: Shell;
  readonly #flags: TcFlags;

  constructor(shell: Shell, flags: TcFlags) {
    this.#shell = shell;
    this.#flags = flags;
  }

  async ask(method: "GET" | "POST", path: string, body?: unknown): Promise<CallAnswer> {
    const { env, clock, signal } = this.#shell;
    const servers = (this.#flags.server ?? env["TENURE_SERVER"] ?? DEFAULT_SERVER).split(",");
    const file = this.#flags.bundle ?? env["TENURE_BUNDLE"];
    if (file === undefined) {
      throw new InvalidRequestError("--bundle", "is missing; tenure ca issue tc NAME makes one");
    }
    const [{ PeerCalls }, { parseBundle }] = await Promise.all([
      import("@tenure/peers"),
      import("@tenure/peers/certificates"),
    ]);
    const bundle = parseBundle(await read(file), file);
    const calls = new PeerCalls({ clock, lingerMs: 0, trustDomain: bundle.owner.trustDomain, tls: bundle });
    const limitMs = servers.length === 1 ? LIMIT_MS : LIMIT_OF_SEVERAL_MS;
    const failures: string[] = [];
    try {
      for (const server of servers) {
        const to = server.trim().replace(/\/+$/, "");
        const limit = new AbortController();
        const cancel = clock.after(limitMs, () =>
          limit.abort(new Error(`no answer within ${limitMs / 1000} s`)),
        );
        try {
          const either = AbortSignal.any([signal, limit.signal]);
          const sent = body === undefined ? {} : { body };
          return await calls.send(to, { method, path, ...sent, signal: either });
        } catch (cause) {
          signal.throwIfAborted();
          failures.push(`${to}: ${(cause as Error).message}`);
        } finally {
          cancel();
        }
      }
    } finally {
      calls.close();
    }
    throw new BackendUnavailableError(`no server answers (${failures.join("; ")})`);
  }
}

async function read(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    throw new InvalidRequestError(path, `cannot be read: ${(cause as Error).message}`, { cause });
  }
}
