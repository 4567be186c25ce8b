/** A service in a process of its own, as a contestant: load is put on it over HTTP by another process. */
import type { Child } from "./child.js";
import type { Contestant } from "./contest.js";
import type { Load, LoadQuestion } from "./load.js";
import type { Measured } from "./measured.js";
import type { ServiceAnswer, ServiceQuestion } from "./service-state.js";

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
