/** Fields of a request's body, checked one by one. A missing field and a wrong field are different errors. */
import { InvalidRequestError } from "@tenure/core";
import { checkId, isObject } from "@tenure/core/internal";
import { normalizeEndpoint } from "../membership/endpoint.js";
import { WireError } from "./wire-error.js";

const MIN_TTL_MS = 100;
const MAX_TTL_MS = 86_400_000;

export class Body {
  readonly #fields: Readonly<Record<string, unknown>>;

  constructor(body: unknown, known: readonly string[]) {
    if (!isObject(body)) throw new WireError("invalid_body", "the body must be a JSON object");
    const unknown = Object.keys(body).find((key) => !known.includes(key));
    if (unknown !== undefined) {
      throw new WireError("invalid_body", `${unknown} is not known here; known are ${known.join(", ")}`);
    }
    this.#fields = body;
  }

  has(name: string): boolean {
    return this.#fields[name] !== undefined;
  }

  text(name: string): string {
    const value = this.required(name);
    if (typeof value !== "string") throw new WireError("invalid_body", `${name} must be a string`);
    if (value.trim() === "") throw missing(name);
    return value;
  }

  id(name: string): string {
    return asWire(() => checkId(this.text(name), name));
  }

  endpoint(name: string): string {
    return asWire(() => normalizeEndpoint(this.text(name), name));
  }

  choice<T extends string>(name: string, choices: readonly T[]): T {
    const value = this.text(name);
    const found = choices.find((each) => each === value);
    if (found === undefined)
      throw new WireError("invalid_body", `${name} must be one of ${choices.join(", ")}`);
    return found;
  }

  term(name: string): number {
    const value = this.#fields[name];
    if (!Number.isSafeInteger(value) || (value as number) < 1) {
      throw new WireError("invalid_term", `${name} must be a whole number of at least 1`);
    }
    return value as number;
  }

  ttlMs(name: string): number {
    const value = this.#fields[name];
    const isWhole = Number.isSafeInteger(value);
    if (!isWhole || (value as number) < MIN_TTL_MS || (value as number) > MAX_TTL_MS) {
      throw new WireError(
        "invalid_ttl",
        `${name} must be a whole number from ${MIN_TTL_MS} to ${MAX_TTL_MS}`,
      );
    }
    return value as number;
  }

  required(name: string): unknown {
    const value = this.#fields[name];
    if (value === undefined || value === null) throw missing(name);
    return value;
  }
}

function missing(name: string): WireError {
  return new WireError(`missing_${name}`, `${name} is missing`);
}

function asWire<T>(check: () => T): T {
  try {
    return check();
  } catch (cause) {
    if (!(cause instanceof InvalidRequestError)) throw cause;
    throw new WireError("invalid_body", cause.message, {}, { cause });
  }
}
