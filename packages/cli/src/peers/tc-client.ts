/** A caller of the peers' routes with a bundle: the first server that answers is asked. */
import { readFile } from "node:fs/promises";
import { BackendUnavailableError, InvalidRequestError } from "@tenure/core";
import type { CallAnswer, PeerCalls } from "@tenure/peers";
import { withScheme } from "../frame/connection.js";
import type { Shell } from "../frame/shell.js";

export interface TcFlags {
  readonly server?: string;
  readonly bundle?: string;
  readonly json?: true;
}

/** Time limit of one server; if several are given, a server that hangs leaves time for the next. */
const LIMIT_MS = 30_000;
const LIMIT_OF_SEVERAL_MS = 10_000;
/** Time limit of each server when all are asked at once. A server that takes longer is shown as not responding. */
const LIMIT_OF_EACH_MS = 3000;
const DEFAULT_SERVER = "https://127.0.0.1:7420";

export class TcClient {
  readonly #shell: Shell;
  readonly #flags: TcFlags;

  constructor(shell: Shell, flags: TcFlags) {
    this.#shell = shell;
    this.#flags = flags;
  }

  /** The answer of the first server in the list that answers. */
  async ask(method: "GET" | "POST", path: string, body?: unknown): Promise<CallAnswer> {
    const { env, signal } = this.#shell;
    const servers = serversOf(this.#flags.server ?? env["TENURE_SERVER"] ?? DEFAULT_SERVER);
    const calls = await this.#calls();
    const limitMs = servers.length === 1 ? LIMIT_MS : LIMIT_OF_SEVERAL_MS;
    const failures: string[] = [];
    try {
      for (const to of servers) {
        try {
          return await calls.sendWithin(limitMs, to, {
            signal,
            method,
            path,
            ...(body === undefined ? {} : { body }),
          });
        } catch (cause) {
          signal.throwIfAborted();
          failures.push(`${to}: ${(cause as Error).message}`);
        }
      }
    } finally {
      calls.close();
    }
    throw new BackendUnavailableError(`no server responded (${failures.join("; ")})`);
  }

  /** What each of these servers answers to a GET, or why it did not. */
  async askEach(
    endpoints: readonly string[],
    path: string,
  ): Promise<ReadonlyMap<string, CallAnswer | Error>> {
    const { signal } = this.#shell;
    const calls = await this.#calls();
    try {
      const answers = endpoints.map(async (to) => {
        const call = { method: "GET", path, signal } as const;
        const answer = await calls
          .sendWithin(LIMIT_OF_EACH_MS, to, call)
          .catch((cause: unknown) => cause as Error);
        return [to, answer] as const;
      });
      const all = new Map(await Promise.all(answers));
      signal.throwIfAborted();
      return all;
    } finally {
      calls.close();
    }
  }

  async #calls(): Promise<PeerCalls> {
    const { env, clock } = this.#shell;
    const file = this.#flags.bundle ?? env["TENURE_BUNDLE"];
    if (file === undefined) {
      throw new InvalidRequestError("--bundle", "is missing; create one with tenure ca issue tc NAME");
    }
    const [{ PeerCalls: Calls }, { parseBundle }] = await Promise.all([
      import("@tenure/peers"),
      import("@tenure/peers/certificates"),
    ]);
    const bundle = parseBundle(await read(file), file);
    return new Calls({ clock, lingerMs: 0, trustDomain: bundle.owner.trustDomain, tls: bundle });
  }
}

/** Servers of a cluster identify each other and their callers by certificates, so they speak only TLS. */
function serversOf(list: string): string[] {
  return list.split(",").map((each) => {
    const server = withScheme(each.trim(), "https").replace(/\/+$/, "");
    if (server.startsWith("https://")) return server;
    throw new InvalidRequestError(
      "--server",
      `is ${server} and must be https://…: the servers of a cluster accept only TLS connections`,
    );
  });
}

async function read(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    throw new InvalidRequestError(path, `cannot be read: ${(cause as Error).message}`, { cause });
  }
}
