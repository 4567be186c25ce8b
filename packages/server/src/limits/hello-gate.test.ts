import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { type Clock, systemClock } from "@tenure/core";
import { VirtualClock } from "@tenure/core/testing";
import { afterEach, expect, test } from "vitest";
import { HelloGate } from "./hello-gate.js";

const undo: (() => void)[] = [];
afterEach(() => {
  for (const each of undo.splice(0)) each();
});

const LIMIT_MS = 1000;
/** A record of five bytes. */
const RECORD = Buffer.from("16030100050102030405", "hex");

interface Gated {
  readonly passed: Socket[];
  /** The sockets of the server, in order. */
  readonly accepted: Socket[];
  /** A client whose connection has been accepted. */
  readonly open: (bytes?: Buffer) => Promise<Socket>;
}

async function gated(clock: Clock): Promise<Gated> {
  const passed: Socket[] = [];
  const accepted: Socket[] = [];
  const gate = new HelloGate({ clock, limitMs: LIMIT_MS, pass: (socket) => passed.push(socket) });
  const server = createServer((socket) => {
    accepted.push(socket);
    gate.add(socket);
  });
  undo.push(() => server.close());
  await once(server.listen(0, "127.0.0.1"), "listening");
  const open = async (bytes?: Buffer) => {
    const isAccepted = once(server, "connection");
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
    undo.push(() => socket.destroy());
    socket.on("error", () => {}).resume();
    await Promise.all([once(socket, "connect"), isAccepted]);
    if (bytes !== undefined) socket.write(bytes);
    return socket;
  };
  return { passed, accepted, open };
}

/** A clock whose turns of the event loop the test runs itself. */
function turnedByHand(): { clock: Clock; turns: (() => void)[] } {
  const turns: (() => void)[] = [];
  return { clock: { ...systemClock, soon: (callback) => void turns.push(callback) }, turns };
}

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setImmediate(resolve));
}

test("TLS gets a connection when its first record is complete, with every byte of it", async () => {
  const { passed, accepted, open } = await gated(systemClock);
  const client = await open(RECORD.subarray(0, 3));
  await until(() => accepted[0]?.bytesRead === 3);
  client.write(RECORD.subarray(3, 7));
  await until(() => accepted[0]?.bytesRead === 7);
  expect(passed).toEqual([]);
  const more = Buffer.from("more");
  client.write(Buffer.concat([RECORD.subarray(7), more]));
  await until(() => passed.length === 1);
  expect(passed[0]?.read()).toEqual(Buffer.concat([RECORD, more]));
});

test("TLS never gets a connection that begins with anything but a handshake", async () => {
  const { passed, open } = await gated(systemClock);
  const tooLong = Buffer.from("1603014001", "hex");
  for (const bytes of [Buffer.from("GET / HTTP/1.1\r\n"), Buffer.alloc(512, 0xa5), tooLong]) {
    await once(await open(bytes), "close");
  }
  const gone = await open(RECORD.subarray(0, 4));
  await once(gone.end(), "close");
  expect(passed).toEqual([]);
});

test("a connection that is silent, or stops within its first record, is closed after the time limit", async () => {
  const clock = new VirtualClock();
  const { accepted, open } = await gated(clock);
  await open();
  await clock.advance(LIMIT_MS / 2);
  await open(RECORD.subarray(0, 7));
  await until(() => accepted[1]?.bytesRead === 7);
  await clock.advance(LIMIT_MS / 2 - 1);
  expect(accepted.map(({ destroyed }) => destroyed)).toEqual([false, false]);
  await clock.advance(1);
  expect(accepted.map(({ destroyed }) => destroyed)).toEqual([true, false]);
  await clock.advance(LIMIT_MS / 2);
  expect(accepted.map(({ destroyed }) => destroyed)).toEqual([true, true]);
});

test("one turn of the event loop begins one handshake and closes 20 connections, however many have arrived", async () => {
  const { clock, turns } = turnedByHand();
  const { passed, accepted, open } = await gated(clock);
  for (let index = 0; index < 4; index++) await open(RECORD);
  for (let index = 0; index < 50; index++) (await open()).end();
  // The gate no longer listens once it has decided.
  await until(() => accepted.every((socket) => socket.listenerCount("readable") === 0));
  expect([passed.length, accepted.filter(({ destroyed }) => destroyed).length]).toEqual([0, 0]);
  const seen: [number, number][] = [];
  while (turns.length > 0) {
    for (const turn of turns.splice(0)) turn();
    seen.push([passed.length, accepted.filter(({ destroyed }) => destroyed).length]);
  }
  expect(seen).toEqual([
    [1, 20],
    [2, 40],
    [3, 50],
    [4, 50],
  ]);
});

test("the gate of TLS handshakes has no timer when no connection waits", async () => {
  const timers = new Set<() => void>();
  const clock: Clock = {
    ...systemClock,
    after: (delayMs, callback) => {
      const cancel = systemClock.after(delayMs, callback);
      timers.add(cancel);
      return () => {
        timers.delete(cancel);
        cancel();
      };
    },
  };
  const { accepted, passed, open } = await gated(clock);
  const silent = await open();
  await open(RECORD);
  await until(() => passed.length === 1);
  expect(timers.size).toBe(1);
  silent.end();
  await until(() => accepted[0]?.closed === true);
  expect(timers.size).toBe(0);
});
