import { VirtualClock } from "@tenure/core/testing";
import { freePorts } from "@tenure/engines";
import { pino } from "pino";
import { afterEach, describe, expect, test } from "vitest";
import { cleanUp, later } from "../http/service.test-kit.js";
import { isSignedBy, Listener } from "./listener.test-kit.js";
import { type WebhookMessage, type WebhookOutcome, WebhookSender } from "./webhook-sender.js";

afterEach(cleanUp);

const SECRET = "a secret of a test";

function message(id: string): WebhookMessage {
  return { id, type: "leader.changed", ts_ms: 1 };
}

/** A sender whose pauses pass in virtual time, and the outcomes of its attempts. */
function sending(url: string) {
  const clock = new VirtualClock();
  const outcomes: WebhookOutcome[] = [];
  let wake = (): void => {};
  const sender = new WebhookSender({
    url,
    secret: SECRET,
    clock: clock.process(),
    log: pino({ level: "silent" }),
    onOutcome: (outcome) => {
      outcomes.push(outcome);
      wake();
    },
  });
  const stop = new AbortController();
  const running = sender.run(stop.signal);
  later(async () => {
    stop.abort(new Error("the test is over"));
    await running;
  });
  const untilOutcomes = async (count: number): Promise<void> => {
    while (outcomes.length < count) await new Promise<void>((resolve) => (wake = resolve));
  };
  return { clock, sender, outcomes, untilOutcomes };
}

describe("the delivery of webhooks", () => {
  test("messages are signed and delivered in their order", async () => {
    const listener = await Listener.open();
    const { sender, untilOutcomes } = sending(listener.url);
    for (const id of ["a", "b", "c"]) sender.send(message(id));
    await untilOutcomes(3);
    expect(listener.received.map(({ body }) => body.id)).toEqual(["a", "b", "c"]);
    expect(listener.received.every((each) => isSignedBy(SECRET, each))).toBe(true);
    expect(listener.received.some((each) => isSignedBy(`${SECRET}!`, each))).toBe(false);
    expect(sender.waiting).toBe(0);
  });

  test("a message waits for a receiver that is down at first", async () => {
    const [port] = await freePorts(1);
    const { clock, sender, outcomes, untilOutcomes } = sending(`http://127.0.0.1:${port}/hook`);
    sender.send(message("a"));
    await untilOutcomes(1);
    const listener = await Listener.open(port);
    await clock.advance(1000);
    await untilOutcomes(2);
    expect(outcomes).toEqual(["failed", "delivered"]);
    expect(listener.received.map(({ body }) => body.id)).toEqual(["a"]);
  });

  test("after an error of the receiver the pause doubles, and the next message waits", async () => {
    const listener = await Listener.open();
    listener.answers.push(500, 503);
    const { clock, sender, outcomes, untilOutcomes } = sending(listener.url);
    sender.send(message("a"));
    sender.send(message("b"));
    await untilOutcomes(1);
    await clock.advance(1000);
    await untilOutcomes(2);
    await clock.advance(1999);
    expect(listener.received).toHaveLength(2);
    await clock.advance(1);
    await untilOutcomes(4);
    expect(outcomes).toEqual(["failed", "failed", "delivered", "delivered"]);
    expect(listener.received.map(({ body }) => body.id)).toEqual(["a", "a", "a", "b"]);
  });

  test("a receiver that does not answer for five seconds is tried again", async () => {
    const listener = await Listener.open();
    listener.answers.push(null);
    const { clock, sender, outcomes, untilOutcomes } = sending(listener.url);
    sender.send(message("a"));
    await listener.until(() => true);
    await clock.advance(5000);
    await untilOutcomes(1);
    await clock.advance(1000);
    await untilOutcomes(2);
    expect(outcomes).toEqual(["failed", "delivered"]);
  });

  test("a message that the receiver refuses is dropped", async () => {
    const listener = await Listener.open();
    listener.answers.push(404);
    const { sender, outcomes, untilOutcomes } = sending(listener.url);
    sender.send(message("a"));
    sender.send(message("b"));
    await untilOutcomes(2);
    expect(outcomes).toEqual(["dropped", "delivered"]);
  });

  test("of more than a thousand waiting messages the oldest are dropped", async () => {
    const listener = await Listener.open();
    listener.answers.push(null);
    const { sender, outcomes } = sending(listener.url);
    for (let index = 0; index < 1003; index++) sender.send(message(String(index)));
    expect(sender.waiting).toBe(1000);
    expect(outcomes).toEqual(["dropped", "dropped", "dropped"]);
  });
});
