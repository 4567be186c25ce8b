/**
 * A load generator on plain sockets: each connection sends its one request again as soon as it is answered. It looks at
 * no more of an answer than it must, so that it takes little from the machine that it shares with the service.
 */
import { connect, type Socket } from "node:net";
import { once } from "node:events";
import { answerOwner } from "./child.js";
import { type Measured, measuredOf } from "./contest.js";
import { requestOf, winRequest } from "./load-requests.js";
import { BATCH, type Load, type LoadQuestion } from "./service-load.js";

const CRLF2 = Buffer.from("\r\n\r\n");

let callers: readonly Caller[] = [];
let perCall = 1;

answerOwner<LoadQuestion, Measured | null>(async (question) => {
  if (question.kind === "run") return run(question.turnMs);
  const { port, load } = question;
  perCall = load.verb === "renew-many" ? BATCH : 1;
  callers = await Promise.all(
    Array.from({ length: load.connections }, (_, index) => {
      const groups = Array.from({ length: perCall }, (_group, i) => `group-${index * perCall + i}`);
      return Caller.open(port, load.verb, groups);
    }),
  );
  return null;
});

async function run(turnMs: number): Promise<Measured> {
  const startMs = performance.now();
  const endMs = startMs + turnMs;
  const latenciesMs: number[] = [];
  await Promise.all(callers.map((caller) => caller.repeat(endMs, latenciesMs)));
  const tookMs = performance.now() - startMs;
  for (const caller of callers) caller.close();
  return measuredOf(latenciesMs, tookMs, perCall);
}

class Caller {
  readonly #socket: Socket;
  #request: Buffer = Buffer.alloc(0);

  private constructor(socket: Socket) {
    this.#socket = socket;
  }

  static async open(port: number, verb: Load["verb"], groups: readonly string[]): Promise<Caller> {
    const socket = connect({ host: "127.0.0.1", port, noDelay: true });
    await once(socket, "connect");
    const caller = new Caller(socket);
    const terms = new Map<string, number>();
    for (const group of groups) terms.set(group, await caller.#win(group));
    caller.#request = requestOf(verb, terms);
    return caller;
  }

  repeat(endMs: number, latenciesMs: number[]): Promise<void> {
    return new Promise((resolve, reject) => {
      let sentMs = performance.now();
      let answer: Buffer | null = null;
      this.#socket.removeAllListeners().on("error", reject);
      this.#socket.on("data", (chunk) => {
        answer = answer === null ? chunk : Buffer.concat([answer, chunk]);
        if (!isWhole(answer)) return;
        const nowMs = performance.now();
        latenciesMs.push(nowMs - sentMs);
        answer = null;
        if (nowMs >= endMs) return resolve();
        sentMs = nowMs;
        this.#socket.write(this.#request);
      });
      this.#socket.write(this.#request);
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  /** The term in which it leads the group. */
  async #win(group: string): Promise<number> {
    const { leader } = JSON.parse(await this.#once(winRequest(group))) as { leader: { term: number } };
    return leader.term;
  }

  async #once(sent: Buffer): Promise<string> {
    this.#socket.write(sent);
    let answer: Buffer = Buffer.alloc(0);
    while (!isWhole(answer)) {
      const [chunk] = (await once(this.#socket, "data")) as [Buffer];
      answer = Buffer.concat([answer, chunk]);
    }
    return answer.toString("utf8", answer.indexOf(CRLF2) + CRLF2.length);
  }
}

const OK = "HTTP/1.1 200 ";
const NOT_OK = Buffer.from('"ok":false');

/** Throws if it is not a 200, or if a result in it is a refusal. */
function isWhole(answer: Buffer): boolean {
  if (answer.length < OK.length) return false;
  const head = answer.toString("latin1", 0, Math.min(answer.length, 600));
  if (!head.startsWith(OK)) throw new Error(`a request was answered ${answer.toString()}`);
  const end = head.indexOf("\r\n\r\n");
  if (end < 0) return false;
  const length = /content-length: (\d+)/i.exec(head)?.[1];
  if (answer.length < end + 4 + Number(length)) return false;
  if (answer.includes(NOT_OK)) throw new Error(`a request was answered ${answer.toString()}`);
  return true;
}
