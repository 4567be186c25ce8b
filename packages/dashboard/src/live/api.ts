import type { Act } from "../model/act.js";
import type { ServerClock } from "../model/server-clock.js";
import type { Session } from "./session.js";

/** An answer that says no, in the service's words. */
export class RefusedError extends Error {
  override readonly name = "RefusedError";
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** No answer at all. */
export class LostError extends Error {
  override readonly name = "LostError";
}

const MAX_REQUEST_MS = 8000;

export class Api {
  readonly #session: Session;
  readonly #clock: ServerClock;
  /** Told of every request that was not answered, or whose credentials count no more. */
  onDoubt: () => void = () => {};

  constructor(session: Session, clock: ServerClock) {
    this.#session = session;
    this.#clock = clock;
  }

  async get<T>(path: string): Promise<T> {
    return (await this.#ask(path, {})).json() as Promise<T>;
  }

  async text(path: string): Promise<string> {
    return (await this.#ask(path, {})).text();
  }

  /** `patience`: how long the answer may take; a transfer is answered when it is settled. */
  async send(
    { method, path, body }: Pick<Act, "method" | "path" | "body">,
    patienceMs: number = MAX_REQUEST_MS,
  ): Promise<void> {
    const content =
      body === undefined
        ? {}
        : { headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
    await this.#ask(path, { method, ...content }, patienceMs);
  }

  /** A stream of events; `cursor` resumes. */
  async stream(cursor: string, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
    const headers = { accept: "text/event-stream", "last-event-id": cursor };
    const answer = await this.#fetch("/v1/watch", { headers, signal });
    if (answer.body === null) throw new LostError("the watch has no body");
    return answer.body;
  }

  async #ask(path: string, init: RequestInit, patienceMs: number = MAX_REQUEST_MS): Promise<Response> {
    try {
      return await this.#fetch(path, { ...init, signal: AbortSignal.timeout(patienceMs) });
    } catch (error) {
      if (error instanceof LostError || (error as RefusedError).status === 401) this.onDoubt();
      throw error;
    }
  }

  async #fetch(path: string, init: RequestInit): Promise<Response> {
    const askedAtMs = Date.now();
    const headers = { ...(init.headers as Record<string, string> | undefined), ...this.#session.headers() };
    const answer = await fetch(path, {
      ...init,
      headers,
      cache: "no-store",
      credentials: "same-origin",
    }).catch((cause: unknown) => {
      throw new LostError("the server does not respond", { cause });
    });
    const date = Date.parse(answer.headers.get("date") ?? "");
    if (Number.isFinite(date)) this.#clock.observe(date, askedAtMs, Date.now());
    if (!answer.ok) throw await refusal(answer);
    return answer;
  }
}

async function refusal(answer: Response): Promise<RefusedError> {
  const body = (await answer.json().catch(() => ({}))) as { error?: string; message?: string };
  const message = body.message ?? `the server answered ${answer.status}`;
  return new RefusedError(answer.status, body.error ?? String(answer.status), message);
}

export function groupPath(groupId: string, rest = ""): string {
  return `/v1/groups/${encodeURIComponent(groupId)}${rest}`;
}
