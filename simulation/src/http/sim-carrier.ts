/** Carries the requests of one client process's `HttpElector` over the simulated network, to the server that it names. */
import type { Answer, Carrier, ExchangeParts, ExchangeRequest, OpenedStream } from "@tenure/client/parts";
import type { ProcessClock, Random } from "@tenure/core/testing";
import type { Answer as Told } from "../checks/check.js";
import { type Environment, isExpected } from "../environment.js";
import { CallLost } from "../network.js";
import type { SimServer } from "../sim-server.js";
import { SimStream } from "./sim-stream.js";
import { campaignOf, type HttpRequest, type Served, SimService } from "./sim-service.js";

export class SimCarrier implements Carrier {
  readonly #environment: Environment;
  readonly #clock: ProcessClock;
  readonly #random: Random;

  constructor(environment: Environment, clock: ProcessClock, random: Random) {
    this.#environment = environment;
    this.#clock = clock;
    this.#random = random;
  }

  /** One for each server, in the order of their names. */
  get endpoints(): readonly string[] {
    return this.#environment.servers.map(({ name }) => `http://${name}`);
  }

  async exchange({ endpoint }: ExchangeParts, asked: ExchangeRequest): Promise<Answer> {
    const { network, modules, checks } = this.#environment;
    const request = requestOf(asked);
    const campaign = campaignOf(modules.server, request);
    try {
      const { answer } = await network.call<Served>({
        from: this.#clock,
        server: this.#server(endpoint.url),
        timeoutMs: asked.timeoutMs,
        ...(asked.signal === undefined ? {} : { signal: asked.signal }),
        ...(campaign === undefined ? {} : { campaign }),
        run: (elector, { signal }) =>
          new SimService(modules, elector).serve(request, signal ?? new AbortController().signal),
        onAnswer: ({ decided }, arrivedMs, answeredMs) => {
          for (const each of decided) checks.onAnswer({ ...each, arrivedMs, answeredMs } as Told);
        },
        onError: (error) => {
          if (!isExpected(this.#environment, error)) checks.unexpected(error);
        },
      });
      return answer;
    } catch (error) {
      if (asked.signal?.aborted === true) throw asked.signal.reason as Error;
      throw this.#noAnswer(error);
    }
  }

  async openStream({ endpoint }: ExchangeParts, asked: ExchangeRequest): Promise<OpenedStream | Answer> {
    const stream = new SimStream({
      environment: this.#environment,
      clock: this.#clock,
      random: this.#random,
      server: this.#server(endpoint.url),
      request: requestOf(asked),
    });
    const giveUp = () => stream.close();
    const cancel = this.#clock.after(asked.timeoutMs, giveUp);
    asked.signal?.addEventListener("abort", giveUp, { once: true });
    try {
      if (asked.signal?.aborted === true) giveUp();
      await stream.opened;
      return stream;
    } catch (error) {
      if (asked.signal?.aborted === true) throw asked.signal.reason as Error;
      throw this.#noAnswer(error);
    } finally {
      cancel();
      asked.signal?.removeEventListener("abort", giveUp);
    }
  }

  #server({ hostname }: URL): SimServer {
    const server = this.#environment.servers.find(({ name }) => name === hostname);
    if (server === undefined) throw new Error(`no server ${hostname}`);
    return server;
  }

  #noAnswer(error: unknown): Error {
    if (!(error instanceof CallLost)) return error as Error;
    const { NoAnswerError } = this.#environment.modules.clientParts;
    const isUnsent = error.message === "connection refused";
    return new NoAnswerError(error.message, { isUnsent, isStale: false }, { cause: error });
  }
}

function requestOf({ path, body }: ExchangeRequest): HttpRequest {
  return { path, body: body === undefined ? undefined : (JSON.parse(body) as unknown) };
}
