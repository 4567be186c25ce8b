import type { Entry } from "@tenure/core";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { KnownState, type Observation } from "./known-state.js";

type Message =
  | { readonly kind: "event"; readonly key: string }
  | { readonly kind: "reply"; readonly zxid: number; readonly run: () => void };

/** A server that reports changes before any answer that knows of them, and one client's view of it. */
class ServerModel {
  readonly state = new KnownState();
  readonly #nodes = new Map<string, Observation>();
  readonly #history: Entry[] = [];
  readonly #stream: Message[] = [];
  readonly #reads: (readonly string[])[] = [];
  readonly #shown = new Map<string, Entry>();
  #isWatched = false;
  #zxid = 0;

  get zxid(): number {
    return this.#zxid;
  }

  get waiting(): number {
    return this.#stream.length + this.#reads.length;
  }

  /** One transaction on all these keys; the client's own is answered with what it has written. */
  write(keys: readonly string[], by: "self" | "another"): void {
    this.#zxid++;
    for (const key of keys) {
      const version = (this.#nodes.get(key)?.version ?? -1) + 1;
      const entry = { key, value: `${key} ${this.#zxid}`, revision: this.#zxid };
      this.#nodes.set(key, { ...entry, version });
      this.#history.push(entry);
      if (this.#isWatched) this.#stream.push({ kind: "event", key });
    }
    if (by === "self") this.#answerWith(keys);
  }

  ping(): void {
    this.#answerWith([]);
  }

  /** How the mirror starts: the watch, and then the listing. */
  watch(): void {
    this.#isWatched = true;
    this.ping();
  }

  list(): void {
    const keys = [...this.#nodes.keys()];
    this.#stream.push({ kind: "reply", zxid: this.#zxid, run: () => this.state.listed(keys) });
  }

  serveRead(): void {
    const keys = this.#reads.shift();
    if (keys !== undefined) this.#answerWith(keys, () => (this.#isReading = false));
  }

  /** The client takes `count` of the arrived messages. */
  deliver(count: number): void {
    for (const message of this.#stream.splice(0, count)) {
      if (message.kind === "event") this.state.changed(message.key);
      else {
        message.run();
        this.state.answered(message.zxid);
      }
    }
    this.#checkCut();
    const keys = this.#isReading ? [] : this.state.toRead();
    if (keys.length === 0) return;
    this.#isReading = true;
    this.#reads.push(keys);
  }

  #isReading = false;

  #answerWith(keys: readonly string[], then: () => void = () => undefined): void {
    const seen = keys.map((key) => [key, this.#nodes.get(key) as Observation] as const);
    const run = (): void => {
      for (const [key, observation] of seen) this.state.observed(key, observation);
      then();
    };
    this.#stream.push({ kind: "reply", zxid: this.#zxid, run });
  }

  #checkCut(): void {
    const before = this.state.revision;
    const cut = this.state.cut();
    if (cut === null) return;
    let last = before + 1;
    for (const entry of cut.entries) {
      expect(entry.revision).toBeGreaterThanOrEqual(last);
      expect(entry.revision).toBeLessThanOrEqual(cut.revision);
      last = entry.revision;
      this.#shown.set(entry.key, entry);
    }
    expect(cut.revision).toBeGreaterThan(before);
    const truth = new Map<string, Entry>();
    for (const entry of this.#history) if (entry.revision <= cut.revision) truth.set(entry.key, entry);
    expect(this.#shown).toEqual(truth);
    const { entries, revision } = this.state.snapshot();
    expect(revision).toBe(cut.revision);
    expect(new Map(entries.map((entry) => [entry.key, entry]))).toEqual(truth);
  }
}

const keys = fc.uniqueArray(fc.constantFrom("a", "b", "c", "d", "e"), { minLength: 1, maxLength: 3 });
const step = fc.oneof(
  fc.tuple(fc.constant("another" as const), keys),
  fc.tuple(fc.constant("self" as const), keys),
  fc.tuple(fc.constant("deliver" as const), fc.nat(4)),
  fc.tuple(fc.constant("read" as const)),
  fc.tuple(fc.constant("ping" as const)),
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

function run(world: ServerModel, steps: readonly Step[]): void {
  for (const [kind, argument] of steps) {
    if (kind === "another" || kind === "self") world.write(argument, kind);
    else if (kind === "deliver") world.deliver(argument);
    else if (kind === "read") world.serveRead();
    else world.ping();
  }
}

function settle(world: ServerModel): void {
  world.ping();
  while (world.waiting > 0) {
    world.serveRead();
    world.deliver(1);
  }
}

describe("KnownState", () => {
  test("each state shown is a state that the store once had, and the last one is complete", () => {
    const steps = fc.array(step, { maxLength: 30 });
    fc.assert(
      fc.property(
        steps,
        steps,
        steps,
        fc.array(step, { maxLength: 60 }),
        (before, starting, listing, after) => {
          const world = new ServerModel();
          run(world, before);
          world.watch();
          run(world, starting);
          world.list();
          run(world, listing);
          run(world, after);
          settle(world);
          expect(world.state.revision).toBe(world.zxid);
        },
      ),
    );
  });

  test("a feed keeps up while others write the same keys without a pause", () => {
    const world = new ServerModel();
    for (const key of ["a", "b", "c", "d"]) world.write([key], "another");
    world.watch();
    world.list();
    settle(world);
    // Every value that is read is outdated, and was skipped, by the time it arrives.
    const lag: number[] = [];
    for (let round = 0; round < 100; round++) {
      for (let i = 0; i < 4; i++) world.write([["a", "b", "c", "d"][(round + i) % 4] as string], "another");
      world.deliver(3);
      for (let i = 0; i < 5; i++) world.write([["a", "b"][i % 2] as string], "another");
      world.serveRead();
      world.deliver(100);
      lag.push(world.zxid - world.state.revision);
    }
    expect(Math.max(...lag)).toBeLessThanOrEqual(40);
  });

  test("no state is shown before all existing keys have been read", () => {
    const world = new ServerModel();
    world.write(["a"], "another");
    world.watch();
    world.deliver(10);
    expect(world.state.revision).toBe(0);
    world.list();
    world.deliver(10);
    expect(world.state.revision).toBe(0);
    world.serveRead();
    world.deliver(10);
    expect(world.state.revision).toBe(1);
  });

  test("the store's own write is known without a read", () => {
    const world = new ServerModel();
    world.watch();
    world.list();
    settle(world);
    world.write(["a"], "self");
    world.deliver(10);
    expect(world.state.toRead()).toEqual([]);
    expect(world.state.revision).toBe(world.zxid);
  });
});
