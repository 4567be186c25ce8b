import { expect, it } from "vitest";
import { BackendUnavailableError, CodedError, InvalidRequestError, TenureError } from "./errors.js";

class OtherError extends CodedError<"OTHER"> {
  readonly code = "OTHER";
}

it("an error has the name of its class, its code and its cause", () => {
  const cause = new Error("why");
  const error = new BackendUnavailableError("no quorum", { cause });
  expect(error).toMatchObject({ name: "BackendUnavailableError", code: "BACKEND_UNAVAILABLE", cause });
  expect(String(error)).toBe("BackendUnavailableError: no quorum");
});

it("an error of another package is of the same family, and not an error of an elector", () => {
  expect(new OtherError("x")).toMatchObject({ name: "OtherError", code: "OTHER" });
  expect(new OtherError("x")).not.toBeInstanceOf(TenureError);
  expect(new InvalidRequestError("f", "is wrong")).toBeInstanceOf(CodedError);
});
