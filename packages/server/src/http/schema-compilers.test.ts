import { VERB_SCHEMAS, type VerbSchema } from "@tenure/api/schemas";
import { expect, it } from "vitest";
import { laterValidator } from "./schema-compilers.js";

it.each(Object.entries<VerbSchema>(VERB_SCHEMAS))(
  "the schema of the request of %s compiles, and refuses a list with a reason",
  (_name, { request }) => {
    const validate = laterValidator()({ schema: request, method: "POST", url: "/" });
    expect(validate([])).toBe(false);
    expect(validate.errors).toMatchObject([{ keyword: "type" }]);
    expect(validate.errors?.[0]).toHaveProperty("parentSchema", request);
  },
);

it("a validator reports no errors of an earlier request", () => {
  const { request } = VERB_SCHEMAS.renew;
  const validate = laterValidator()({ schema: request, method: "POST", url: "/" });
  expect(validate({})).toBe(false);
  expect(validate({ node_id: "a", term: 1, extend_by_ms: 5000 })).toBe(true);
  expect(validate.errors).toBeNull();
});
