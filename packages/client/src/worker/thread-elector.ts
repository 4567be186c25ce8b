import { type Elector, InvalidRequestError } from "@tenure/core";
import { checkKeys, isObject } from "@tenure/core/internal";
import { HttpElector } from "../http/http-elector.js";
import { type HttpElectorOptions, parseOptions } from "../http/options.js";

/** What a thread can be told: no functions. A token that changes is read from `tokenFile`. */
export type ThreadHttpOptions = Omit<HttpElectorOptions, "token" | "clock" | "random"> & {
  readonly token?: string | undefined;
};

/** A module that opens an elector: over a store, say. */
export interface ElectorModule {
  /** Its URL, such as `new URL("./elector.js", import.meta.url).href`. */
  readonly module: string;
  /** Which of its exports is called; `openElector` by default. It returns an elector, or a promise of one. */
  readonly exportName?: string | undefined;
  /** What it is called with. */
  readonly argument?: unknown;
}

/** From what a thread opens an elector of its own. */
export type ElectorDescription = ThreadHttpOptions | ElectorModule;

/** A copy of it, checked as far as that can be done without opening it. */
export function parseDescription(given: ElectorDescription): ElectorDescription {
  if (!isObject(given)) throw new InvalidRequestError("elector", "must be an object");
  const description = copied(given);
  if (!isModule(description)) {
    parseOptions(description);
    return description;
  }
  checkKeys(description, "elector", ["module", "exportName", "argument"]);
  if (typeof description.module !== "string" || !URL.canParse(description.module)) {
    throw new InvalidRequestError(
      "elector.module",
      'must be a URL, such as new URL("./elector.js", import.meta.url).href',
    );
  }
  const { exportName } = description;
  if (exportName !== undefined && typeof exportName !== "string") {
    throw new InvalidRequestError("elector.exportName", "must be a string");
  }
  return description;
}

export async function openElector(description: ElectorDescription): Promise<Elector> {
  if (!isModule(description)) return HttpElector.open(description);
  const { module, exportName = "openElector", argument } = description;
  const loaded = (await import(module)) as Readonly<Record<string, unknown>>;
  const open = loaded[exportName];
  if (typeof open !== "function") {
    throw new InvalidRequestError(
      "elector.exportName",
      `names ${exportName}, which ${module} does not export`,
    );
  }
  return (open as (argument: unknown) => Elector | Promise<Elector>)(argument);
}

function isModule(description: ElectorDescription): description is ElectorModule {
  return "module" in description;
}

function copied<T>(given: T): T {
  try {
    return structuredClone(given);
  } catch (cause) {
    const problem =
      "cannot be handed to a thread: plain data only, no functions; a token may come from tokenFile";
    throw new InvalidRequestError("elector", problem, { cause });
  }
}
