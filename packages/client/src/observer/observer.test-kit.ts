import type { Elector } from "@tenure/core";

/** An elector with some verbs replaced. */
export function altered<T extends Elector>(elector: T, verbs: Partial<T>): T {
  return new Proxy(elector, {
    get(target, name) {
      const verb: unknown = name in verbs ? verbs[name as keyof T] : Reflect.get(target, name, target);
      return typeof verb === "function" ? (verb.bind(target) as unknown) : verb;
    },
  });
}
