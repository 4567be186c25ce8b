import { BackendUnavailableError } from "@tenure/core";
import { connect, type Msg } from "@nats-io/transport-node";
import { isMissing, startNats } from "@tenure/engines";
import { describe, expect, test } from "vitest";
import { Connection } from "./connection.js";
import { ServerClient } from "./server.test-kit.js";

describe.skipIf(isMissing("nats"))("a request over NATS", () => {
  test.each([
    { dropped: 0, againMs: undefined },
    { dropped: 2, againMs: 20 },
  ])(
    "a request is answered after $dropped were dropped, repeated every $againMs ms",
    async ({ dropped, againMs }) => {
      await using asked = await askedOf(dropped);
      const reply = await asked.connection.ask({ subject: "q", payload: "?" }, { limitMs: 5000, againMs });
      expect(reply.string()).toBe(`! after ${dropped}`);
    },
  );

  test("a request without an answer within its limit fails, whether it is sent once or repeatedly", async () => {
    await using asked = await askedOf(Number.POSITIVE_INFINITY);
    const once = asked.connection.ask({ subject: "q", payload: "?" }, { limitMs: 100 });
    await expect(once).rejects.toThrow(BackendUnavailableError);
    expect(await asked.arrived()).toBe(1);
    // Long enough for three, even on a busy machine.
    const again = asked.connection.ask({ subject: "q", payload: "?" }, { limitMs: 2000, againMs: 20 });
    await expect(again).rejects.toThrow(BackendUnavailableError);
    const before = await asked.arrived();
    expect(before).toBeGreaterThanOrEqual(1 + 3);
    // It is not sent again afterwards: another unanswered request takes as long as several repetitions.
    const other = asked.connection.ask({ subject: "unanswered", payload: "" }, { limitMs: 200 });
    await expect(other).rejects.toThrow(BackendUnavailableError);
    expect(await asked.arrived()).toBe(before);
  });
});

/** A connection, and at its other end a client that drops the first requests; `arrived` counts those sent so far. */
async function askedOf(
  dropped: number,
): Promise<AsyncDisposable & { readonly connection: Connection; arrived(): Promise<number> }> {
  const engine = await startNats();
  const client = await ServerClient.open(engine.ports);
  let count = 0;
  const callback = (_: unknown, question: Msg): void => {
    if (count++ >= dropped) question.respond(`! after ${count - 1}`);
  };
  client.connection.subscribe("q", { callback });
  client.connection.subscribe("unanswered", { callback: () => {} });
  await client.connection.flush();
  const library = await connect({ servers: `127.0.0.1:${engine.ports[0]}`, reconnect: false });
  const connection = new Connection(library);
  return {
    connection,
    async arrived() {
      await library.flush();
      await client.connection.flush();
      return count;
    },
    async [Symbol.asyncDispose]() {
      await connection.close();
      await client.connection.close();
      await engine.stop();
    },
  };
}
