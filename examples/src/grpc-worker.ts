/**
 * A worker over gRPC without a library of Tenure: only grpc-js, proto-loader and tenure.proto. Any language with gRPC can do
 * the same; copy `packages/server/proto/tenure.proto` to your program.
 *
 *     tenure serve --grpc 127.0.0.1:7421
 *     node examples/dist/fenced-resource.js 8081
 *     RESOURCE=http://127.0.0.1:8081 node examples/dist/grpc-worker.js a     # and b in another terminal
 *
 * The rules of a leader, which every client has to keep:
 * - The lease counts from the moment before its request was sent, and is 1 % shorter than the ttl.
 * - NOT_LEADER ends the term at once. No answer changes nothing: the lease lasts until its deadline.
 * - A term that is over is never continued, whatever answers arrive later.
 * - Each act ends before the deadline, and carries the term: the receiver refuses a lower one.
 * - The lease is renewed until the work has ended, then released.
 */
import { randomUUID } from "node:crypto";
import { uptime } from "node:os";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import {
  type Client,
  credentials,
  loadPackageDefinition,
  Metadata,
  type ServiceError,
  status,
} from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";

const GROUP = "grpc-worker";
const TTL_MS = 5_000;
const LEASE_MS = TTL_MS * 0.99;
/** Left for an act to end. */
const MARGIN_MS = TTL_MS / 10;
const QUEUE_MS = 1_000;

interface Leader {
  readonly node_id: string;
  readonly term: number;
}

/** What tenure.proto says, as far as it is needed. */
interface Answers {
  readonly Campaign: {
    readonly is_leader: boolean;
    readonly leader?: Leader;
    readonly retry_after_ms?: number;
  };
  readonly Renew: { readonly transfer_to?: string };
  readonly Resign: object;
}

type Call = (
  request: object,
  metadata: Metadata,
  options: { readonly deadline: number },
  done: (error: ServiceError | null, answer: unknown) => void,
) => void;

const [nodeId = `node-${process.pid}`] = process.argv.slice(2);
const say = (text: string) => process.stdout.write(`${nodeId} ${text}\n`);
const resource = `${process.env["RESOURCE"] ?? "http://127.0.0.1:8081"}/${GROUP}/${nodeId}`;

const proto = fileURLToPath(new URL("../../packages/server/proto/tenure.proto", import.meta.url));
const { tenure } = loadPackageDefinition(
  loadSync(proto, { keepCase: true, longs: Number }),
) as unknown as Readonly<
  Record<"tenure", { v1: { Election: new (address: string, credentials: unknown) => Client } }>
>;
const client = new tenure.v1.Election(
  process.env["TENURE_GRPC"] ?? "127.0.0.1:7421",
  credentials.createInsecure(),
);
/** New at each start: a restarted program is not the one that held the lease. */
const instance = randomUUID();
let isStopping = false;

function ask<Verb extends keyof Answers>(
  verb: Verb,
  fields: object,
  timeoutMs: number,
): Promise<Answers[Verb]> {
  const request = { group_id: GROUP, node_id: nodeId, instance_start_uuid: instance, ...fields };
  const call = (client as unknown as Record<Verb, Call>)[verb].bind(client);
  return new Promise((resolve, reject) => {
    call(request, new Metadata(), { deadline: Date.now() + timeoutMs }, (error, answer) => {
      if (error === null) resolve(answer as Answers[Verb]);
      else reject(error);
    });
  });
}

/** FAILED_PRECONDITION is also the status of CONFLICT, which these verbs do not have. */
const isNotLeader = (error: unknown) => (error as ServiceError).code === status.FAILED_PRECONDITION;

const startMs = performance.now();
const startUptimeMs = uptime() * 1000;
/** Node's clock stops while the machine is suspended, and `uptime` does not; it counts in steps of 10 ms. */
function nowMs(): number {
  return Math.max(performance.now() - startMs, uptime() * 1000 - startUptimeMs - 10);
}

/** One term of this process. */
class Lease {
  readonly term: number;
  #deadlineMs: number;
  #isOver = false;
  readonly #ended = new AbortController();
  readonly #renewals: Promise<void>;

  constructor(term: number, deadlineMs: number) {
    this.term = term;
    this.#deadlineMs = deadlineMs;
    this.#renewals = this.#renew();
  }

  /** How long this process may act; 0 before any other node can lead. */
  leftMs(): number {
    const leftMs = Math.floor(this.#deadlineMs - MARGIN_MS - nowMs());
    this.#isOver ||= leftMs <= 0;
    return this.#isOver ? 0 : leftMs;
  }

  /** After the work has ended. Gives up when the lease has expired anyway. */
  async end(): Promise<void> {
    this.#isOver = true;
    this.#ended.abort();
    await this.#renewals;
    const giveUpMs = nowMs() + TTL_MS;
    while (nowMs() < giveUpMs) {
      try {
        await ask("Resign", { term: this.term }, TTL_MS / 5);
        return;
      } catch (error) {
        if (isNotLeader(error)) return;
        await wait(TTL_MS / 20);
      }
    }
  }

  async #renew(): Promise<void> {
    const { signal } = this.#ended;
    while (!signal.aborted) {
      const sentMs = nowMs();
      let pauseMs = TTL_MS / 5;
      try {
        const answer = await ask("Renew", { term: this.term, extend_by_ms: TTL_MS }, TTL_MS / 3);
        // Too late: the term was over before this answer came. Or another node is to take over.
        this.#isOver ||= nowMs() >= this.#deadlineMs || answer.transfer_to !== undefined;
        this.#deadlineMs = Math.max(this.#deadlineMs, sentMs + LEASE_MS);
      } catch (error) {
        this.#isOver ||= isNotLeader(error);
        pauseMs = TTL_MS / 20;
      }
      await wait(pauseMs, undefined, { signal }).catch(() => {});
    }
  }
}

let lastTerm = 0;

/** `null` if another node leads. The wait in the queue counts against the lease here, so it is short. */
async function campaign(): Promise<Lease | null> {
  const sentMs = nowMs();
  const fields = { lease_ttl_ms: TTL_MS, wait_ms: QUEUE_MS };
  const { is_leader: isLeader, leader } = await ask("Campaign", fields, QUEUE_MS + TTL_MS / 2);
  if (!isLeader || leader === undefined) {
    // A group that is held back answers at once.
    await wait(Math.max(0, sentMs + QUEUE_MS - nowMs()));
    return null;
  }
  const lease = new Lease(leader.term, sentMs + LEASE_MS);
  if (leader.term > lastTerm) {
    lastTerm = leader.term;
    return lease;
  }
  // A term that this process has led before, and that no resignation has reached yet.
  await lease.end();
  return null;
}

async function act(term: number, timeoutMs: number): Promise<void> {
  const headers = { "Tenure-Group": GROUP, "Tenure-Term": String(term) };
  try {
    const response = await fetch(resource, {
      method: "POST",
      headers,
      signal: AbortSignal.timeout(timeoutMs),
    });
    await response.arrayBuffer();
    if (!response.ok) say(`was refused in term ${term}: ${response.status}`);
  } catch (error) {
    say(`failed: ${String(error)}`);
  }
}

const stop = () => {
  isStopping = true;
};
process.once("SIGTERM", stop).once("SIGINT", stop);
while (!isStopping) {
  const lease = await campaign().catch(async (error: unknown) => {
    say(`cannot campaign: ${String(error)}`);
    await wait(TTL_MS / 5);
    return null;
  });
  if (lease === null) continue;
  say(`leads in term ${lease.term}`);
  for (let leftMs = lease.leftMs(); leftMs > 0 && !isStopping; leftMs = lease.leftMs()) {
    await act(lease.term, leftMs);
    await wait(100);
  }
  await lease.end();
  say("no longer leads");
}
client.close();
say("has stopped");
