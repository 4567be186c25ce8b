/** Which role depends on which, and which roles must be led by one process. */
import { InvalidRequestError } from "@tenure/core";
import type { ParsedRole } from "./options.js";

export interface RoleUnit {
  /** The first of its names. */
  readonly id: string;
  /** In the order in which they are acquired. */
  readonly names: readonly string[];
}

export class RoleGraph {
  /** All names, each after those that it depends on, otherwise by name. The same in every process that has the same roles. */
  readonly order: readonly string[];
  readonly units: readonly RoleUnit[];
  readonly #roles: ReadonlyMap<string, ParsedRole>;
  readonly #dependents = new Map<string, string[]>();

  /** Refuses a dependency on an unknown role or on itself, and names it. */
  constructor(roles: ReadonlyMap<string, ParsedRole>) {
    this.#roles = roles;
    for (const { name, dependsOn } of roles.values()) {
      for (const needed of dependsOn) {
        if (!roles.has(needed)) {
          throw new InvalidRequestError("dependsOn", `of role ${name} names ${needed}, which was not added`);
        }
        this.#dependents.set(needed, [...this.dependents(needed), name]);
      }
    }
    this.order = this.#sorted();
    this.units = this.#connected();
  }

  dependents(name: string): readonly string[] {
    return this.#dependents.get(name) ?? [];
  }

  #sorted(): readonly string[] {
    const order = new Set<string>();
    const visit = (name: string, path: readonly string[]): void => {
      if (order.has(name)) return;
      if (path.includes(name)) {
        const cycle = [...path.slice(path.indexOf(name)), name].join(" -> ");
        throw new InvalidRequestError("dependsOn", `must not contain a cycle: ${cycle}`);
      }
      for (const needed of this.#dependsOn(name)) visit(needed, [...path, name]);
      order.add(name);
    };
    for (const name of [...this.#roles.keys()].toSorted()) visit(name, []);
    return [...order];
  }

  #connected(): readonly RoleUnit[] {
    const bySet = new Map<string, string[]>();
    for (const { name, set } of this.#roles.values()) {
      if (set !== null) bySet.set(set, [...(bySet.get(set) ?? []), name]);
    }
    const seen = new Set<string>();
    const collect = (name: string): readonly string[] => {
      if (seen.has(name)) return [];
      seen.add(name);
      const set = this.#roles.get(name)?.set ?? null;
      const near = [
        ...this.#dependsOn(name),
        ...this.dependents(name),
        ...(set === null ? [] : (bySet.get(set) ?? [])),
      ];
      return [name, ...near.flatMap(collect)];
    };
    const places = new Map(this.order.map((name, index) => [name, index]));
    const units: RoleUnit[] = [];
    for (const name of this.order) {
      const names = collect(name).toSorted((one, other) => (places.get(one) ?? 0) - (places.get(other) ?? 0));
      if (names.length > 0) units.push({ id: name, names });
    }
    return units;
  }

  #dependsOn(name: string): readonly string[] {
    return (this.#roles.get(name)?.dependsOn ?? []).toSorted();
  }
}
