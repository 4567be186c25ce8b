import type { SimServer } from "../sim-server.js";
import type { Check, CheckContext, OpenRequest, WrittenEntry } from "./check.js";

/** The limit of a request, the call to the store that it may be in, and another one as a margin. */
const ANSWERED_MS = 4500;
const CLOSED_MS = 6500;

/**
 * L4: every request is answered, whatever it waits for and whatever state its group is in; a server that closes has
 * answered all callers; without faults no server refuses to answer.
 * S14: an entry that cannot be read is left unchanged.
 */
export class InTime implements Check {
  readonly #context: CheckContext;
  readonly #late = new WeakSet<OpenRequest>();

  constructor(context: CheckContext) {
    this.#context = context;
  }

  onEntry({ server, key, isUnreadable }: WrittenEntry): void {
    if (isUnreadable && server !== "other")
      this.#context.fail("S14", `${server} writes over ${key}, which another version has written`);
  }

  onUnavailable(server: string, error: Error): void {
    if (this.#context.nowMs() < this.#context.chaosMs + this.#context.settledMs) return;
    this.#context.fail("L4", `${server} answers without faults: ${error.message}`);
  }

  onClosed(server: SimServer, tookMs: number): void {
    if (tookMs > CLOSED_MS) this.#context.fail("L4", `${server.name} took ${tookMs.toFixed(0)} ms to close`);
    for (const { groupId } of this.#context.groups) {
      const waiting = this.#context.rooms
        .of(groupId)
        .find((each) => each.server === server && each.leftAtMs === null);
      if (waiting !== undefined)
        this.#context.fail("L4", `${server.name} closed, and did not answer ${waiting.request.nodeId}`);
    }
  }

  onTick(): void {
    for (const request of this.#context.requests) {
      if (request.server.process?.clock.isRunning === true) request.runningMs += this.#context.tickMs;
      if (
        request.runningMs < request.waitMs + ANSWERED_MS + this.#context.stoppedMs ||
        this.#late.has(request)
      )
        continue;
      this.#late.add(request);
      this.#context.fail(
        "L4",
        `${request.server.name} has not answered a request after ${request.runningMs} ms, of which it may wait ${request.waitMs} ms`,
      );
    }
  }
}
