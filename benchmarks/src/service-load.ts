/**
 * A service in a process of its own, and the load that another process puts on it over HTTP: what each of the two is asked and
 * answers, and both together as a contestant.
 */
import type { Child } from "./child.js";
import type { Contestant, Measured } from "./contest.js";

/** The questions of a service under load: its state as it is, or after a collection of its garbage. */
export type ServiceQuestion = "state" | "state after gc";
export interface ServiceAnswer {
  readonly port: number;
  /** Of the whole process, in user and system mode. */
  readonly cpuMs: number;
  readonly rssBytes: number;
  readonly heapBytes: number;
}

export function stateOf(url: string, question: ServiceQuestion): ServiceAnswer {
  const { gc } = globalThis as { gc?: () => void };
  if (question === "state after gc") {
    if (gc === undefined) throw new Error("start it with --expose-gc");
    for (let i = 0; i < 4; i++) gc();
  }
  const { rss, heapUsed } = process.memoryUsage();
  const { user, system } = process.cpuUsage();
  return {
    port: Number(new URL(url).port),
    cpuMs: (user + system) / 1000,
    rssBytes: rss,
    heapBytes: heapUsed,
  };
}

/** What the load generator does. */
export interface Load {
  /** `renew-many`: `POST /v1/renew`, counted in renewals. */
  readonly verb: "renew" | "renew-many" | "leader";
  readonly connections: number;
}

export type LoadQuestion =
  /** Connects, and wins the leases of the groups; answered `null`. What is opened serves one run. */
  | { readonly kind: "open"; readonly port: number; readonly load: Load }
  | { readonly kind: "run"; readonly turnMs: number };

/** Renewals in one request of `renew-many`. */
export const BATCH = 100;

export type Service = Child<ServiceQuestion, ServiceAnswer>;
export type Generator = Child<LoadQuestion, Measured | null>;

export function loadedService(service: Service, generator: Generator, load: Load): Contestant {
  return async (turnMs) => {
    const { port } = await service.ask("state");
    await generator.ask({ kind: "open", port, load });
    const before = await service.ask("state");
    const measured = await generator.ask({ kind: "run", turnMs });
    const after = await service.ask("state");
    if (measured === null) throw new Error("the load generator has measured nothing");
    return { ...measured, cpuUs: ((after.cpuMs - before.cpuMs) * 1000) / measured.count };
  };
}
