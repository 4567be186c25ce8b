/**
 * Decisions over many coordinators and electorates: with any coordinator, on whatever electorate it believes in, a
 * transaction has one outcome. Everything is drawn from a seed. Without the rule that a step waits for decisions to be
 * carried over, the test finds a violation.
 */
import { Random } from "@tenure/core/testing";
import { expect, it } from "vitest";
import { type DecidingServer, Deciders, electorateOf } from "./deciders.test-kit.js";

const NAMES = "abcdef";
const ENDED = AbortSignal.abort(new Error("no sweeps"));

class Schedule {
  readonly #random: Random;
  readonly #world: Deciders;
  readonly #stepsWait: boolean;
  readonly outcomes = new Map<string, Set<string>>();
  /** The completed electorate, which elects each coordinator. */
  #electorate = "abc";
  #term = 1;
  #n = 0;
  /** Each coordinator so far, with its term. */
  readonly #offices: { readonly server: DecidingServer; readonly term: number }[] = [];

  constructor(world: Deciders, random: Random, stepsWait: boolean) {
    this.#world = world;
    this.#random = random;
    this.#stepsWait = stepsWait;
    // The others would inform a majority that does not remember.
    world.managers = ["a"];
  }

  async run(): Promise<void> {
    for (let act = 0; act < 40; act++) {
      this.#drawCuts();
      const kind = this.#random.next();
      if (kind < 0.25) this.#elect();
      else if (kind < 0.6) await this.#step();
      else await this.#decide();
    }
  }

  #drawCuts(): void {
    this.#world.cut.clear();
    for (const a of NAMES) {
      for (const b of NAMES) if (a !== b && this.#random.chance(0.25)) this.#world.cut.add(`${a} ${b}`);
    }
  }

  #hasMajority(name: string, electorate: string): boolean {
    const reached = Array.from(electorate).filter(
      (each) => each === name || !this.#world.cut.has(`${name} ${each}`),
    );
    return 2 * reached.length > electorate.length;
  }

  #elect(): void {
    const name = this.#random.pick(Array.from(this.#electorate));
    if (!this.#hasMajority(name, this.#electorate)) return;
    const server = this.#world.at(name);
    this.#term++;
    this.#n = 0;
    server.config = electorateOf(this.#electorate, this.#term, 0);
    server.decider.lead(this.#term, ENDED);
    this.#offices.push({ server, term: this.#term });
  }

  async #step(): Promise<void> {
    const server = this.#offices.at(-1)?.server;
    if (server === undefined) return;
    const change = this.#random.pick(Array.from(NAMES).filter((name) => name !== server.name));
    const next = this.#electorate.includes(change)
      ? this.#electorate.replace(change, "")
      : this.#electorate + change;
    if (!this.#hasMajority(server.name, this.#electorate) || !this.#hasMajority(server.name, next)) return;
    if (this.#stepsWait && !server.decider.mayStep(server.config)) {
      await server.decider.stopped();
      return;
    }
    this.#electorate = next;
    server.config = electorateOf(next, this.#term, ++this.#n);
  }

  /** Mostly by the latest coordinator, sometimes by one whose term is over. */
  async #decide(): Promise<void> {
    const latest = this.#offices.at(-1);
    if (latest === undefined) return;
    const office = this.#random.chance(0.7)
      ? latest
      : this.#offices[this.#random.int(0, this.#offices.length - 1)];
    if (office === undefined) return;
    const txnId = `t${this.#random.int(0, 2)}`;
    const wanted = this.#random.pick(["commit", "abort"] as const);
    const settled = await office.server.decider.settle(txnId, wanted, office.term);
    if (settled.kind !== "final") return;
    this.outcomes.set(txnId, (this.outcomes.get(txnId) ?? new Set()).add(settled.decision));
  }
}

/** The number of these schedules that decided a transaction twice. */
async function violations(seeds: number, stepsWait: boolean): Promise<{ broken: number; decided: number }> {
  let [broken, decided] = [0, 0];
  for (let seed = 1; seed <= seeds; seed++) {
    const schedule = new Schedule(await Deciders.of(NAMES, "abc"), new Random(seed), stepsWait);
    await schedule.run();
    const sizes = [...schedule.outcomes.values()].map(({ size }) => size);
    if (sizes.some((size) => size > 1)) broken++;
    decided += sizes.length;
  }
  return { broken, decided };
}

it("a transaction has one outcome, for all coordinators and changes of the electorate", async () => {
  const { broken, decided } = await violations(400, true);
  expect(broken).toBe(0);
  expect(decided).toBeGreaterThan(400);
});

it("a transaction could have two outcomes if steps did not wait for decisions to be carried over", async () => {
  expect((await violations(400, false)).broken).toBeGreaterThan(0);
});
