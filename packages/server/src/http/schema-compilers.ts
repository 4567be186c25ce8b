/**
 * Turns the schemas of a route into the functions that check its requests and write its responses, when the first request or
 * response needs them: to compile those of all routes would take a third of the time that a server needs to start. Routes of an
 * extension have Fastify's own compilers, which report a mistake in their schemas at the start.
 */
import ajvCompiler from "@fastify/ajv-compiler";
import serializerSelector from "@fastify/fast-json-stringify-compiler";
import type {
  FastifyInstance,
  FastifySchemaCompiler,
  FastifySerializerCompiler,
  FastifyServerOptions,
} from "fastify";
import type { FastifyValidationResult } from "fastify/types/schema.js";

/** Nothing is converted, removed or filled in. `verbose`: an error shows its schema, of which the message names the bounds. */
export const AJV: NonNullable<FastifyServerOptions["ajv"]> = {
  customOptions: { coerceTypes: false, removeAdditional: false, useDefaults: false, verbose: true },
};

/** For the routes that are added to `scope` after this call. */
export function compileSchemasLater(scope: FastifyInstance): void {
  scope.setValidatorCompiler(laterValidator());
  scope.setSerializerCompiler(laterSerializer());
}

export function laterValidator(): FastifySchemaCompiler<unknown> {
  let compile: FastifySchemaCompiler<unknown> | null = null;
  return (route) => {
    let compiled: FastifyValidationResult | null = null;
    const check: FastifyValidationResult = (value: unknown) => {
      compile ??= ajvCompiler()({}, AJV) as FastifySchemaCompiler<unknown>;
      compiled ??= compile(route);
      const result = compiled(value);
      check.errors = compiled.errors ?? null;
      return result;
    };
    return check;
  };
}

function laterSerializer(): FastifySerializerCompiler<unknown> {
  const compile = serializerSelector()({}, {}) as FastifySerializerCompiler<unknown>;
  return (route) => {
    let compiled: ((value: unknown) => string) | null = null;
    return (value) => {
      compiled ??= compile(route);
      return compiled(value);
    };
  };
}
