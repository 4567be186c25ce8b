import { type LeaderOptions, sleep } from "@tenure/core";
import type { Random } from "@tenure/core/testing";
import type { Environment } from "./environment.js";
import { isExpected } from "./environment.js";
import type { SimServer } from "./sim-server.js";

const LOCAL_RATE = 0.25;
/** How often one read is followed by another at the same server while its sync may still be under way. */
const CLOSE_RATE = 0.3;

/** Asks any server who leads, at intervals. It runs beside the servers, because their answers are checked. */
export class Reader {
  readonly #environment: Environment;
  readonly #random: Random;
  readonly #suspendedMs: (server: string) => number;

  constructor(environment: Environment, random: Random, suspendedMs: (server: string) => number) {
    this.#environment = environment;
    this.#random = random;
    this.#suspendedMs = suspendedMs;
  }

  async run(): Promise<never> {
    const { time, servers } = this.#environment;
    const random = this.#random;
    for (;;) {
      await sleep(time, random.between(20, 160));
      const server = random.pick(servers);
      this.#read(server);
      while (random.chance(CLOSE_RATE)) {
        await sleep(time, random.between(0.2, 6));
        this.#read(server);
      }
    }
  }

  #read(server: SimServer): void {
    const { time, groupIds, checks, counts } = this.#environment;
    const { process, name } = server;
    if (process === null || !process.clock.isRunning) return;
    const groupId = this.#random.pick(groupIds);
    const isLocal = this.#random.chance(LOCAL_RATE);
    const consistency: NonNullable<LeaderOptions["consistency"]> = isLocal ? "local" : "linearizable";
    const arrivedMs = time.monotonicMs();
    process.elector.leader(groupId, { consistency }).then(
      (result) =>
        process.clock.pass(() => {
          counts.reads++;
          const suspendedMs = this.#suspendedMs(name);
          checks.onRead({
            groupId,
            server: name,
            consistency,
            result,
            arrivedMs,
            answeredMs: time.monotonicMs(),
            suspendedMs,
          });
        }),
      (error: unknown) => {
        if (!isExpected(this.#environment, error)) checks.unexpected(error);
        else if (error instanceof this.#environment.modules.core.BackendUnavailableError)
          checks.onUnavailable(name, error);
      },
    );
  }
}
