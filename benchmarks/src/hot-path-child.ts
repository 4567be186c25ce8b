/**
 * Started by hot-path.ts: services, bare Fastify and bare node:http in one process, each behind connections that are
 * objects of this process. No kernel, no disk and no load generator take part, so that a few microseconds can be seen.
 *
 * Arguments: the entries of `@tenure/server` to measure. Prints `Costs` of each, then of Fastify and node:http.
 */
import type { Server } from "node:http";
import { resolve } from "node:path";
import { Duplex } from "node:stream";
import { pathToFileURL } from "node:url";
import type { TenureServer } from "@tenure/server";
import { bareFastify, bareNode } from "./bare-routes.js";
import { requestOf, winRequest } from "./load-requests.js";
import { BATCH, type Load } from "./service-load.js";

const CONNECTIONS = 128;
/** Requests in one turn of one contestant. */
const TURN: Readonly<Record<Load["verb"], number>> = { renew: 4096, leader: 4096, "renew-many": 256 };
const ROUNDS = 12;
const VERBS: readonly Load["verb"][] = ["renew", "leader", "renew-many"];

/** CPU time per request, or per renewal of a list, in microseconds: a figure per round. */
export type Costs = Readonly<Record<Load["verb"], readonly number[]>>;

/** One connection of a client, which node:http takes for a socket. */
class Connection extends Duplex {
  readonly remoteAddress = "127.0.0.1";
  onAnswer: (answer: string) => void = () => {};
  #received = "";

  setTimeout(): this {
    return this;
  }

  override _read(): void {}

  override _write(chunk: Buffer | string, _: BufferEncoding, done: () => void): void {
    this.#take(chunk.toString("latin1"));
    done();
  }

  override _writev(chunks: { readonly chunk: Buffer | string }[], done: () => void): void {
    this.#take(chunks.map(({ chunk }) => chunk.toString("latin1")).join(""));
    done();
  }

  #take(text: string): void {
    const answer = this.#received + text;
    const end = answer.indexOf("\r\n\r\n") + 4;
    const length = /content-length: (\d+)/i.exec(answer)?.[1];
    this.#received = answer;
    if (end < 4 || answer.length < end + Number(length)) return;
    this.#received = "";
    if (!answer.startsWith("HTTP/1.1 200 ") || answer.includes('"ok":false')) {
      // Not thrown here, where node:http would take it for an error of the connection.
      process.nextTick(() => {
        throw new Error(`a request was answered ${answer}`);
      });
      return;
    }
    this.onAnswer(answer.slice(end));
  }
}

interface Contestant {
  readonly server: Server;
  readonly close: () => unknown;
  readonly costs: Record<Load["verb"], number[]>;
}

async function serviceOf(entry: string): Promise<Contestant> {
  const { TenureServer: Service } = (await import(pathToFileURL(resolve(entry)).href)) as {
    TenureServer: typeof TenureServer;
  };
  let server: Server | null = null;
  const service = await Service.open(
    {
      listen: "127.0.0.1:0",
      store: "memory:",
      logLevel: "warn",
      maxGroups: 100_000,
      maxGroupsPerNode: 100_000,
    },
    { extension: { mount: (app) => void (server = app.server) } },
  );
  if (server === null) throw new Error(`${entry} opened no HTTP server`);
  return contestant(server, () => service.close());
}

function contestant(server: Server, close: () => unknown): Contestant {
  return { server, close, costs: { renew: [], leader: [], "renew-many": [] } };
}

/** The clients of one contestant for one verb. All of them send their next request in the same turn of the event loop. */
class Clients {
  readonly #connections: readonly Connection[];
  #requests: readonly Buffer[] = [];

  constructor(server: Server) {
    this.#connections = Array.from({ length: CONNECTIONS }, () => {
      const connection = new Connection();
      server.emit("connection", connection);
      return connection;
    });
  }

  async win(verb: Load["verb"]): Promise<void> {
    const perCall = verb === "renew-many" ? BATCH : 1;
    const won = this.#connections.map(async (connection, index) => {
      const terms = new Map<string, number>();
      for (let i = 0; i < perCall; i++) {
        const group = `group-${index * perCall + i}`;
        const answer = new Promise<string>((resolve) => (connection.onAnswer = resolve));
        connection.push(winRequest(group));
        const { leader } = JSON.parse(await answer) as { leader: { term: number } };
        terms.set(group, leader.term);
      }
      return requestOf(verb, terms);
    });
    this.#requests = await Promise.all(won);
  }

  run(count: number): Promise<void> {
    return new Promise((done) => {
      let left = count;
      let answered = 0;
      let due: number[] = [...this.#connections.keys()];
      const send = (): void => {
        const now = due.slice(0, left);
        due = [];
        left -= now.length;
        for (const index of now) this.#connections[index]?.push(this.#requests[index]);
      };
      for (const [index, connection] of this.#connections.entries()) {
        connection.onAnswer = () => {
          if (++answered === count) done();
          else if (due.push(index) === 1) setImmediate(send);
        };
      }
      setImmediate(send);
    });
  }

  close(): void {
    for (const connection of this.#connections) connection.destroy();
  }
}

async function cpuUs(work: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

const services = await Promise.all(process.argv.slice(2).map(serviceOf));
const fastify = bareFastify();
await fastify.ready();
const bare = [contestant(fastify.server, () => fastify.close()), contestant(bareNode(), () => {})];
for (const verb of VERBS) {
  const field = await Promise.all(
    [...services, ...(verb === "renew-many" ? [] : bare)].map(async ({ server, costs }) => {
      const clients = new Clients(server);
      await clients.win(verb);
      return { clients, costs: costs[verb] };
    }),
  );
  // The first two rounds warm up. Each contestant goes first in some rounds.
  for (let round = -2; round < ROUNDS; round++) {
    const first = (round + 2) % field.length;
    for (const { clients, costs } of [...field.slice(first), ...field.slice(0, first)]) {
      const tookUs = await cpuUs(() => clients.run(TURN[verb]));
      if (round >= 0) costs.push(tookUs / TURN[verb] / (verb === "renew-many" ? BATCH : 1));
    }
  }
  for (const { clients } of field) clients.close();
}
console.log(JSON.stringify([...services, ...bare].map(({ costs }): Costs => costs)));
for (const { close } of [...services, ...bare]) await close();
