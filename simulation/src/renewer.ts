import type { RenewManyResult, RenewRequest, RenewResult } from "@tenure/core";
import type { Environment } from "./environment.js";
import { isExpected } from "./environment.js";
import type { ProcessClock, Random } from "@tenure/core/testing";

interface Pending {
  readonly request: RenewRequest;
  readonly timeoutMs: number;
  readonly resolve: (result: RenewResult) => void;
  readonly reject: (error: unknown) => void;
}

const GATHER_MS = 10;

/** Sends renewals one by one, or those of several groups together, as a process that leads many groups does. */
export class Renewer {
  readonly #environment: Environment;
  readonly #clock: ProcessClock;
  readonly #random: Random;
  #gathered: Pending[] | null = null;

  constructor(environment: Environment, clock: ProcessClock, random: Random) {
    this.#environment = environment;
    this.#clock = clock;
    this.#random = random;
  }

  renew(request: RenewRequest, timeoutMs: number): Promise<RenewResult> {
    if (this.#environment.groupIds.length === 1 || this.#random.chance(0.3))
      return this.#sendOne(request, timeoutMs);
    return new Promise((resolve, reject) => {
      const pending = { request, timeoutMs, resolve, reject };
      // A group is named once in a batch.
      if (this.#gathered?.some((each) => each.request.groupId === request.groupId)) this.#flush();
      if (this.#gathered !== null) return void this.#gathered.push(pending);
      this.#gathered = [pending];
      this.#clock.after(GATHER_MS, () => this.#flush());
    });
  }

  #flush(): void {
    const gathered = this.#gathered;
    this.#gathered = null;
    if (gathered !== null) void this.#sendMany(gathered);
  }

  #sendOne(request: RenewRequest, timeoutMs: number): Promise<RenewResult> {
    const { network, checks, random, servers } = this.#environment;
    return network.call({
      from: this.#clock,
      server: random.pick(servers),
      timeoutMs,
      run: (elector, options) => elector.renew(request, options),
      onAnswer: (result, arrivedMs, answeredMs) =>
        checks.onAnswer({ verb: "renew", request, result, arrivedMs, answeredMs }),
      onError: (error) => this.#checkError(error),
    });
  }

  async #sendMany(gathered: readonly Pending[]): Promise<void> {
    const { network, random, servers } = this.#environment;
    const requests = gathered.map((each) => each.request);
    try {
      const results = await network.call({
        from: this.#clock,
        server: random.pick(servers),
        timeoutMs: Math.min(...gathered.map((each) => each.timeoutMs)),
        run: (elector, options) => elector.renewMany(requests, options),
        onAnswer: (all, arrivedMs, answeredMs) => this.#answered(requests, all, arrivedMs, answeredMs),
        onError: (error) => this.#checkError(error),
      });
      gathered.forEach((each, index) => {
        const result = results[index];
        if (result === undefined || result.kind === "failed")
          each.reject(result?.error ?? new Error("no result"));
        else each.resolve(result);
      });
    } catch (error) {
      for (const each of gathered) each.reject(error);
    }
  }

  #answered(
    requests: readonly RenewRequest[],
    results: readonly RenewManyResult[],
    arrivedMs: number,
    answeredMs: number,
  ): void {
    requests.forEach((request, index) => {
      const result = results[index];
      if (result === undefined)
        return this.#environment.checks.unexpected(new Error("renewMany left out a result"));
      if (result.kind === "failed") return this.#checkError(result.error);
      this.#environment.checks.onAnswer({ verb: "renew", request, result, arrivedMs, answeredMs });
    });
  }

  #checkError(error: unknown): void {
    if (!isExpected(this.#environment, error)) this.#environment.checks.unexpected(error);
  }
}
