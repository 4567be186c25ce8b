/**
 * Hostile callers beside an honest leader. `npm run chaos` compares the leader's renewals under each attack with quiet ones
 * of the same minute; `npm test` makes all attacks at once, for a moment, and looks only at what must hold at any speed.
 */
import { afterEach, expect, it } from "vitest";
import { isChaos } from "../chaos.test-kit.js";
import { until } from "../engines/until.test-kit.js";
import { Arena, ATTACKERS_LAST, type Latencies } from "./arena.test-kit.js";
import type { AttackName, Strengths } from "./messages.test-kit.js";

const GROUPS = 10;
const TTL_MS = 2000;
/** Where the machine may be busy with other tests. */
const LONG_TTL_MS = 10_000;
/** Quiet and hostile in turns, so that whatever else the machine does hits both. */
const ROUNDS = 3;
const RENEWALS = 100;
const MAX_P99_RATIO = 5;
const EXIT_MS = 10_000;
/** Sockets of the attackers are gone after at most this: a handshake that stalls is cut off after 10 s. */
const CALM_MS = 60_000;
/** Beyond what the server had open before: connections of the judge, files that are being read. */
const SPARE_DESCRIPTORS = 10;

const STRENGTH: Required<Strengths> = {
  "silent-sockets": 1000,
  watches: 50_000,
  snapshots: 40,
  garbage: 40,
  reconnects: 50,
  "deaf-readers": 200,
  "refused-campaigns": 10,
  "bad-tokens": 10,
};
const FEW: Required<Strengths> = {
  "silent-sockets": 50,
  watches: 2000,
  snapshots: 3,
  garbage: 8,
  reconnects: 5,
  "deaf-readers": 10,
  "refused-campaigns": 3,
  "bad-tokens": 3,
};
/** Groups that are there to be asked for. */
const CROWD: Strengths = { snapshots: 20_000, "deaf-readers": 1000 };

/** `npm test` makes them all at once. */
const MEASURED = isChaos ? (Object.keys(STRENGTH) as AttackName[]) : [];

let arena: Arena | null = null;
afterEach(async () => {
  await arena?.close();
  arena = null;
});

/** The attackers are gone, and so is what the server held for them. */
async function calm(of: Arena, before: number): Promise<void> {
  await until(CALM_MS, "the sockets of the attackers are closed", async () => {
    return of.holdings().descriptors <= before + SPARE_DESCRIPTORS;
  });
}

async function expectStillLed(of: Arena): Promise<void> {
  expect(of.losses).toEqual([]);
  expect(await of.terms()).toEqual(of.groups.map(() => 1));
}

async function expectStops(of: Arena): Promise<void> {
  const { code, tookMs } = await of.stop();
  console.log(`SIGTERM to exit: ${Math.round(tookMs)} ms`);
  expect(code).toBe(0);
  expect(tookMs).toBeLessThan(EXIT_MS);
}

function share(latencies: readonly number[], of: number): number {
  const sorted = latencies.toSorted((a, b) => a - b);
  return sorted[Math.ceil(of * sorted.length) - 1] ?? Number.NaN;
}

function summary(name: string, measured: readonly Latencies[]): { p99Ms: number; line: string } {
  const all = measured.flatMap(({ latenciesMs }) => latenciesMs);
  const failures = measured.flatMap((each) => each.failures);
  const [p50Ms, p99Ms, maxMs] = [share(all, 0.5), share(all, 0.99), share(all, 1)];
  const figures = `p50 ${p50Ms.toFixed(1)}, p99 ${p99Ms.toFixed(1)}, max ${maxMs.toFixed(1)} ms`;
  return {
    p99Ms,
    line: `${name}: ${all.length} renewals, ${figures}, ${failures.length} failed ${[...new Set(failures)].join(" ")}`,
  };
}

/** From the first attacker to the last socket that is left of it. */
async function under(
  of: Arena,
  attack: AttackName,
  enough: () => Promise<unknown>,
): Promise<Readonly<Record<string, number>>> {
  const { descriptors } = of.holdings();
  const attacker = await of.attack({ [attack]: STRENGTH[attack] }, ATTACKERS_LAST);
  await enough();
  const counts = await attacker.end();
  await calm(of, descriptors);
  return counts;
}

it.each(MEASURED)(
  "an honest leader with a ttl of 2 s keeps its term and its pace under an attack by %s",
  async (attack) => {
    arena = await Arena.open(GROUPS, TTL_MS);
    const crowd = CROWD[attack] ?? 0;
    const before = arena.holdings();
    const quiet: Latencies[] = [];
    const hostile: Latencies[] = [];
    const attacks: Readonly<Record<string, number>>[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      // In each round, so that those who lead them keep them.
      await arena.lead(crowd);
      const attacked = await arena.renewals(RENEWALS, async (enough) => {
        attacks.push(await under(arena as Arena, attack, enough));
      });
      hostile.push(attacked);
      quiet.push(await arena.renewals(attacked.latenciesMs.length));
    }
    const after = arena.holdings();
    const [calmly, attacked] = [summary("quiet", quiet), summary("hostile", hostile)];
    const ratio = attacked.p99Ms / calmly.p99Ms;
    console.log(
      [
        `${attack}: p99 ${ratio.toFixed(2)}× of the quiet one`,
        calmly.line,
        attacked.line,
        `attacker, by round: ${JSON.stringify(attacks)}`,
        `server before: ${JSON.stringify(before)}, after: ${JSON.stringify(after)}`,
      ].join("\n  "),
    );
    await expectStillLed(arena);
    await expectStops(arena);
    expect(ratio).toBeLessThanOrEqual(MAX_P99_RATIO);
  },
);

it("an honest leader keeps its term while all attacks are made at once, and nothing of them is left", async () => {
  arena = await Arena.open(2, LONG_TTL_MS);
  const before = arena.holdings();
  await arena.lead(200);
  const attacker = await arena.attack(FEW);
  await arena.renewals(10);
  await attacker.end();
  await calm(arena, before.descriptors);
  await expectStillLed(arena);
  await expectStops(arena);
});
