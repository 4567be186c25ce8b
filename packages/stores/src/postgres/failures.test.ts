import { BackendUnavailableError, InvalidRequestError } from "@tenure/core";
import { expect, test } from "vitest";
import { isUndone, unavailable } from "./failures.js";

const withCode = (code: string): Error => Object.assign(new Error("as the server says it"), { code });

test.each([
  ["25006", "read-only"],
  ["42501", "not permitted"],
  ["42883", "no such procedure"],
  ["3F000", "no such schema"],
  ["23505", "the key is there already"],
  ["22P05", "a character that the database cannot keep"],
  ["2D000", "called within a transaction"],
  ["40001", "serialization failure"],
  ["40P01", "deadlock"],
  ["55P03", "the lock was not granted in time"],
  ["TN001", "the server is behind what was seen"],
])("SQLSTATE %s (%s) proves that nothing was written", (code) => {
  expect(isUndone(withCode(code))).toBe(true);
});

test.each([
  ["57014", "cancelled, perhaps while it waited for its standbys"],
  ["57P01", "the server shuts down, perhaps after the commit"],
  ["25P04", "the time limit of a transaction, perhaps of the one after the commit"],
  ["40003", "the server itself does not know"],
  ["08006", "the connection failed"],
  ["08P01", "any error of a pooler"],
  ["53100", "the disk is full, perhaps at the commit"],
  ["58030", "an I/O error"],
  ["XX000", "an internal error"],
  ["TN002", "committed, and then failed"],
  ["EPIPE", "the connection broke"],
  ["ECONNRESET", "the connection broke"],
])("%s (%s) leaves the outcome of the write unknown", (code) => {
  expect(isUndone(withCode(code))).toBe(false);
});

test("an error without a code leaves the outcome of the write unknown", () => {
  expect(isUndone(new Error("Connection terminated unexpectedly"))).toBe(false);
  expect(isUndone("what?")).toBe(false);
});

test("every cause becomes a BackendUnavailableError, and an existing one is passed on unchanged", () => {
  const unreachable = new BackendUnavailableError("no server accepts writes");
  expect(unavailable("it failed", unreachable)).toBe(unreachable);
  for (const cause of [withCode("25006"), new InvalidRequestError("store", "is refused"), "what?"]) {
    const error = unavailable("it failed", cause);
    expect(error).toBeInstanceOf(BackendUnavailableError);
    expect([error.message.startsWith("it failed: "), error.cause]).toEqual([true, cause]);
  }
});
