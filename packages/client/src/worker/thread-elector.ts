import { type Elector, InvalidRequestError } from "@tenure/core";
import { checkKeys, isObject } from "@tenure/core/internal";
import { HttpElector } from "../http/http-elector.js";
import { type HttpElectorOptions, parseOptions } from "../http/options.js";

/** Options that can be passed to a thread, so no functions. A token that changes is read from `tokenFile`. */
export type ThreadHttpOptions = Omit<HttpElectorOptions, "token" | "clock" | "random"> & {
  readonly token?: string | undefined;
};

/** A module that opens an elector: over a store, say. */
export interface ElectorModule {
  /** Its URL, such as `new URL("./elector.js", import.meta.url).href`. */
  readonly module: string;
  /** The name of the export to call, which returns an elector or a promise of one. @defaultValue `openElector` */
  readonly exportName?: string | undefined;
  /** The argument of the call. */
  readonly argument?: unknown;
}

/** How a thread opens its own elector. */
export type ElectorDescription = ThreadHttpOptions | ElectorModule;

/** A copy of the description, checked as far as possible without opening an elector. */
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
