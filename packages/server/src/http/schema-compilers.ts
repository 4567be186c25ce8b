/**
 * Turns the schemas of a route into the functions that check its requests and write its responses, when the first request or
 * response needs them: to compile those of all routes would take a third of the time that a server needs to start. Servers in
 * one process share what is compiled. A route of an extension has Fastify's own compilers, which report a mistake in its schemas
 * at the start.
 */
import ajvCompiler from "@fastify/ajv-compiler";
import serializerSelector from "@fastify/fast-json-stringify-compiler";
import type { FastifySchemaCompiler, FastifySerializerCompiler, FastifyServerOptions } from "fastify";
import type { FastifyValidationResult } from "fastify/types/schema.js";

/** Nothing is converted, removed or filled in. `verbose`: an error shows its schema, of which the message names the bounds. */
export const AJV: NonNullable<FastifyServerOptions["ajv"]> = {
  customOptions: { coerceTypes: false, removeAdditional: false, useDefaults: false, verbose: true },
};

type Route<Compiler extends (route: never) => unknown> = Parameters<Compiler>[0];

const compileCheck = ajvCompiler()({}, AJV) as FastifySchemaCompiler<unknown>;
const compileWriter = serializerSelector()({}, {}) as FastifySerializerCompiler<unknown>;

export const validatorCompiler = (route: Route<typeof compileCheck>): FastifyValidationResult => {
  let compiled: FastifyValidationResult | null = null;
  const check: FastifyValidationResult = (value: unknown) => {
    compiled ??= compileCheck(route);
    const result = compiled(value);
    check.errors = compiled.errors ?? null;
    return result;
  };
  return check;
};

export const serializerCompiler = (route: Route<typeof compileWriter>): ((value: unknown) => string) => {
  let compiled: ((value: unknown) => string) | null = null;
  return (value) => {
    compiled ??= compileWriter(route);
    return compiled(value);
  };
};
