/** A client process whose part in each group is a real `Election` of the client library. */
import type { Election, ElectionOptions } from "@tenure/client";
import type { Elector } from "@tenure/core";
import type { Random } from "@tenure/core/testing";
import type { ClientProcess, Lead, Participant } from "./checks/check.js";
import type { WaitStyle } from "./environment.js";
import { GrantedTime } from "./granted-time.js";
import { HttpWitness } from "./http/http-witness.js";
import { SimCarrier } from "./http/sim-carrier.js";
import { NetworkElector } from "./network-elector.js";
import type { Client, SimClientOptions } from "./sim-client.js";

const TTL_MS = [600, 1200] as const;
/** How often the process asks whether it leads. */
const LOOK_MS = [5, 60] as const;
/** Long schedules with long leases need not be looked at as closely. */
const HTTP_LOOK_MS = [50, 250] as const;
/** After a suspend `isLeader()` may be wrong for this long. */
const TRUSTED_MS = 1.1;

/**
 * A wait costs a quarter of the first lease at most. If less is left, the campaign was late on its way to the server,
 * because of faults, and the lease may end before the first renewal is answered.
 */
const SHORT_SHARE = 0.6;

type Waits = Pick<ElectionOptions, "campaignWaitMs" | "takeoverDelayMs">;

const WAITS: Readonly<Record<WaitStyle, (random: Random, isFirstGroup: boolean) => Waits>> = {
  queue: (random) => ({ campaignWaitMs: random.pick([2000, 30_000]), takeoverDelayMs: 0 }),
  polls: () => ({ campaignWaitMs: 0, takeoverDelayMs: 0 }),
  watch: () => ({ campaignWaitMs: 0, takeoverDelayMs: 300 }),
  // In all groups but the first, candidates wait for their watch.
  mixed: (random, isFirstGroup) => ({
    campaignWaitMs: isFirstGroup ? random.pick([0, 2000, 30_000]) : 0,
    takeoverDelayMs: random.pick([0, 0, 0, 300]),
  }),
};

interface Part extends Participant {
  readonly election: Election;
}

export class ElectionClient implements Client {
  readonly name: string;
  readonly nodeId: string;
  readonly #options: SimClientOptions;
  #parts: readonly Part[] = [];
  #lives = 0;
  #process: ClientProcess | null = null;
  #isAsked = false;
  #wokeAtMs = Number.NEGATIVE_INFINITY;
  #trustedAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: SimClientOptions) {
    this.name = options.name;
    this.nodeId = options.nodeId;
    this.#options = options;
  }

  get process(): ClientProcess | null {
    return this.#process;
  }

  start(): void {
    if (this.#process !== null) return;
    const { environment, nodeId, random, rate } = this.#options;
    const { stops } = environment;
    const clock = environment.time.process({
      ...(stops === null ? {} : { stops: { plan: stops, random: random.fork() } }),
      rate,
      wallOffsetMs: random.between(-5000, 5000),
      originMs: random.between(0, 1e7),
      bootTickMs: 10,
    });
    const name = `${this.name}.${++this.#lives}`;
    const process: ClientProcess = { name, nodeId, instanceId: name, clock };
    this.#process = process;
    this.#wokeAtMs = environment.time.monotonicMs();
    this.#parts = [];
    if (environment.profile.httpTtlMs === null) this.#begin(process, null);
    else
      this.#openHttp(process).then(
        (elector) => {
          if (this.#process === process) this.#begin(process, elector);
        },
        (error: unknown) => environment.checks.unexpected(error),
      );
  }

  /** `http`: what all its elections share. */
  #begin(process: ClientProcess, http: Elector | null): void {
    const { environment, random, groupIds } = this.#options;
    this.#parts = groupIds.map((groupId) => this.#part(process, groupId, random.fork(), http));
    for (const part of this.#parts) environment.checks.onStarted(part);
    const started = this.#parts.map(({ election }) => election.start());
    // No answer of the servers is a permanent failure here.
    Promise.all(started).catch((error: unknown) => environment.checks.unexpected(error));
    // If the process does not ask, the election has to notice the end by itself.
    this.#isAsked = random.chance(0.6);
    this.#lookForEver(process, random.fork());
  }

  #openHttp({ clock }: ClientProcess): Promise<Elector> {
    const { environment, random } = this.#options;
    const draws = random.fork();
    const carrier = new SimCarrier(environment, clock, random.fork());
    const { endpoints } = carrier;
    return environment.modules.client.HttpElector.over(carrier, {
      endpoints,
      clock,
      random: () => draws.next(),
    });
  }

  /** Like SIGTERM: the work ends, then the process resigns and ends. */
  stop(): void {
    const process = this.#process;
    const parts = this.#parts;
    process?.clock.pass(() => {
      void Promise.all(parts.map(({ election }) => election.stop())).then(() => this.#gone(process));
    });
  }

  crash(): void {
    const { environment, random } = this.#options;
    const process = this.#process;
    if (process === null) return;
    for (const part of this.#parts) environment.checks.onCrashed(part);
    process.clock.kill();
    if (random.chance(0.5)) environment.network.hangUp(process.clock);
    this.#process = null;
  }

  /** The first thing that a process does when it continues may be to ask whether it leads. */
  woke(how: "pause" | "suspend"): void {
    const process = this.#process;
    if (process === null) return;
    const { time } = this.#options.environment;
    this.#wokeAtMs = time.monotonicMs();
    this.#trustedAtMs = this.#wokeAtMs + (how === "suspend" ? TRUSTED_MS : 0);
    if (how === "pause") this.#look(process);
    else time.at(this.#trustedAtMs, () => this.#look(process));
  }

  #lookForEver(process: ClientProcess, random: Random): void {
    const { time, profile } = this.#options.environment;
    const lookMs = profile.httpTtlMs === null ? LOOK_MS : HTTP_LOOK_MS;
    time.after(random.between(lookMs[0], lookMs[1]), () => {
      if (this.#process !== process) return;
      this.#look(process);
      this.#lookForEver(process, random);
    });
  }

  #look(process: ClientProcess): void {
    const { time, checks } = this.#options.environment;
    if (
      !this.#isAsked ||
      this.#process !== process ||
      !process.clock.isRunning ||
      time.monotonicMs() < this.#trustedAtMs
    )
      return;
    for (const part of this.#parts) {
      const { isLeader, term } = process.clock.look(() => ({
        isLeader: part.election.isLeader(),
        term: part.election.term(),
      }));
      checks.onAsked({ participant: part, isLeader, term });
    }
  }

  #part(process: ClientProcess, groupId: string, random: Random, http: Elector | null): Part {
    const { environment, groupIds } = this.#options;
    const { driftRatio, modules, profile } = environment;
    const { clock, nodeId, name } = process;
    const granted = new GrantedTime(clock, driftRatio);
    const elector =
      http === null
        ? new NetworkElector(environment, clock, random.fork(), granted)
        : new HttpWitness(environment, http, clock, granted);
    let ids = 0;
    const ttlMs = random.int(...(profile.httpTtlMs ?? TTL_MS));
    const election = new modules.client.Election(elector, {
      groupId,
      nodeId,
      ttlMs,
      clock,
      driftRatio,
      priority: random.int(0, 2),
      random: () => random.next(),
      newId: () => (ids++ === 0 ? name : `${name}-${ids}`),
      ...WAITS[environment.waitStyle](random, groupId === groupIds[0]),
      retry: { initialBackoffMs: 20, maxBackoffMs: 400 },
    });
    const { time } = environment;
    const part: Part = {
      election,
      process,
      groupId,
      ttlMs,
      grantedMs: (term) => granted.leftMs(term),
      awakeMs: () => time.monotonicMs() - this.#wokeAtMs,
      restsUntilMs: 0,
    };
    this.#observe(part, elector, random);
    return part;
  }

  #observe(part: Part, elector: NetworkElector | HttpWitness, random: Random): void {
    const { environment } = this.#options;
    const { checks, counts, led } = environment;
    const { election, process, groupId } = part;
    const { clock, name } = process;
    let lead: Lead | null = null;
    let renewedByMs = 0;
    elector.onAnswered = () => {
      if (lead !== null && !clock.isKilled && clock.look(() => lead?.led.leftMs() ?? 0) > 0)
        checks.onLead(lead);
    };
    election.onPromote(async ({ term }, signal, lease) => {
      const current: Lead = { process, groupId, led: { term, leftMs: () => lease.leftMs() } };
      lead = current;
      const isShort = lease.leftMs() < part.ttlMs * SHORT_SHARE;
      renewedByMs = environment.time.monotonicMs() + (isShort ? part.ttlMs / 2 : 0);
      counts.elections++;
      led.add(`${groupId} ${term}`);
      checks.onPromoted(part, term, signal);
      checks.onLead(current);
      environment.trace?.note(name, `leads term ${term} of ${groupId}`);
      const cancel = clock.after(random.between(...environment.profile.workMs), () => {
        const standAgainAfterMs = random.pick([0, 2000]);
        part.restsUntilMs = environment.time.monotonicMs() + standAgainAfterMs;
        election.resign({ standAgainAfterMs });
      });
      if (!signal.aborted)
        await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      cancel();
      // Work takes a while to end, mostly less than the margin that is left for it.
      if (random.chance(0.5))
        await new Promise<void>((resolve) => clock.after(random.between(0, part.ttlMs / 8), resolve));
      checks.onWorkEnded(part);
    });
    election.onDemote((reason) => {
      environment.trace?.note(name, `is demoted in ${groupId}: ${reason}`);
      checks.onDemoted(
        part,
        reason,
        clock.look(() => election.isLeader()),
      );
      const isRenewed = environment.time.monotonicMs() >= renewedByMs;
      if (lead !== null) checks.onStop(lead, isRenewed && reason === "lapsed" ? "lapsed" : "ended");
      lead = null;
    });
  }

  #gone(process: ClientProcess): void {
    if (this.#process !== process) return;
    process.clock.kill();
    this.#process = null;
  }
}
