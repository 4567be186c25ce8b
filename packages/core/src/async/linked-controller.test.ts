import { expect, test } from "vitest";
import { LinkedController } from "./linked-controller.js";

test("a linked controller aborts with the reason of the first signal that aborts", () => {
  const first = new AbortController();
  const second = new AbortController();
  const linked = new LinkedController(first.signal, undefined, second.signal);
  expect(linked.signal.aborted).toBe(false);
  const reason = new Error("closed");
  second.abort(reason);
  first.abort(new Error("too late"));
  expect(linked.signal.reason).toBe(reason);
});

test("a controller that is linked to an aborted signal is aborted from the start", () => {
  const reason = new Error("closed");
  const linked = new LinkedController(AbortSignal.abort(reason));
  expect(linked.signal.reason).toBe(reason);
});

test("an unlinked controller no longer follows its signals, but can still be aborted", () => {
  const stopping = new AbortController();
  const linked = new LinkedController(stopping.signal);
  linked.unlink();
  stopping.abort();
  expect(linked.signal.aborted).toBe(false);
  linked.abort();
  expect(linked.signal.aborted).toBe(true);
});
