import { InvalidRequestError } from "@tenure/core";
import { describe, expect, test } from "vitest";
import { coreErrorOf, ERRORS, type ServiceCode } from "./errors.js";
import { libraryField, wireField } from "./field-names.js";

const message = "a text for people";
const codes = Object.keys(ERRORS) as readonly ServiceCode[];

describe("coreErrorOf", () => {
  test.each(codes)(
    "a refusal with code %s becomes an error with that code if core has a class for it",
    (code) => {
      const error = coreErrorOf({ ok: false, error: code, message }, { groupId: "g", ttlMs: 1 });
      expect(error === null).toBe(ERRORS[code].error === null);
      // A foreign request is one that its sender may not make.
      if (error !== null) expect(error.code).toBe(code === "FOREIGN_REQUEST" ? "UNAUTHORIZED" : code);
    },
  );

  test("a refusal with a field and a problem keeps both as data, whatever the message says", () => {
    const refusal = { error: "INVALID_REQUEST", message, field: "lease_ttl_ms", problem: "must be even" };
    const error = coreErrorOf(refusal, {});
    expect(error).toMatchObject({ field: "ttlMs", problem: "must be even", message: "ttlMs must be even" });
  });

  test("a refusal without a problem, as an older service sends it, has the message as its problem", () => {
    const error = coreErrorOf({ error: "INVALID_REQUEST", message, field: "node_id" }, {});
    expect(error).toMatchObject({ field: "nodeId", problem: message });
  });

  test("a refusal with an unknown code is not an error of core", () => {
    expect(coreErrorOf({ error: "NOVEL", message }, {})).toBeNull();
    expect(coreErrorOf({ error: "toString", message }, {})).toBeNull();
  });
});

test.each([
  ["ttlMs", "lease_ttl_ms", "others"],
  ["ttlMs", "extend_by_ms", "renew"],
  ["instanceId", "instance_start_uuid", "renew"],
  ["policy.retry.maxMs", "policy.retry.max_ms", "others"],
  ["renewals[3].nodeId", "renewals[3].node_id", "renew"],
] as const)(
  "the field %s is %s on the wire of %s, and is mapped back in the library",
  (library, wire, of) => {
    expect(wireField(library, of)).toBe(wire);
    expect(libraryField(wire)).toBe(library);
  },
);

test("a problem that names another field uses the field name of each surface", () => {
  const error = new InvalidRequestError(
    "policy.minTtlMs",
    (nameOf) => `is more than ${nameOf("policy.maxTtlMs")}`,
  );
  expect(error.message).toBe("policy.minTtlMs is more than policy.maxTtlMs");
  expect(error.problem).toBe("is more than policy.maxTtlMs");
  expect(error.problemWith(wireField)).toBe("is more than policy.max_ttl_ms");
});
