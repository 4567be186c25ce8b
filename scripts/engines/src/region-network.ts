/**
 * Machines in different regions: one network namespace each, joined by links that are slow and lose packets. Packets and not
 * streams are delayed and lost, so TCP behaves as it does between data centers. `netem` of the kernel does the same, but not every
 * kernel has it; this needs root, `ip`, Perl and /dev/net/tun.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { on } from "node:events";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { createInterface, type Interface } from "node:readline";
import type { Machine } from "./etcd.js";

/** Beside the sources; it is not compiled. */
const RELAY = fileURLToPath(new URL("../src/region-network.pl", import.meta.url));

export interface Link {
  /** A round trip, without jitter. */
  readonly rttMs: number;
  /** The largest deviation of one way. */
  readonly jitterMs: number;
  /** The share of packets that are lost. */
  readonly loss: number;
}

export class RegionNetwork {
  readonly #tag: string;
  readonly #subnet = `198.19.${randomInt(256)}`;
  readonly #names: readonly string[];
  readonly #relay: ChildProcess;
  readonly #lines: Interface;
  readonly #answers: AsyncIterator<unknown>;
  readonly #atExit = (): void => this.close();

  private constructor(names: readonly string[]) {
    this.#tag = `rn${process.pid % 10_000}`;
    this.#names = names;
    const devices = [...names.keys()].map((index) => `${this.#tag}t${index}`);
    this.#relay = spawn("perl", [RELAY, ...devices, this.#here], { stdio: ["pipe", "pipe", "inherit"] });
    this.#lines = createInterface({ input: this.#relay.stdout as NodeJS.ReadableStream });
    this.#answers = on(this.#lines, "line", { close: ["close"] });
    process.once("exit", this.#atExit);
  }

  static isMissing(): boolean {
    return process.getuid?.() !== 0 || !existsSync("/dev/net/tun");
  }

  /** This machine takes part too, with the same links. */
  static async open(names: readonly string[]): Promise<RegionNetwork> {
    const network = new RegionNetwork(names);
    try {
      await network.#answered("ready");
      network.#join();
    } catch (error) {
      network.close();
      throw error;
    }
    return network;
  }

  async set({ rttMs, jitterMs, loss }: Link): Promise<void> {
    this.#relay.stdin?.write(`${rttMs / 2} ${jitterMs} ${loss}\n`);
    await this.#answered("set");
  }

  machine(name: string): Machine {
    return {
      host: this.#host(this.#names.indexOf(name)),
      inside: ["ip", "netns", "exec", this.#space(name)],
    };
  }

  close(): void {
    process.off("exit", this.#atExit);
    // Its devices go with it.
    this.#relay.kill("SIGKILL");
    this.#lines.close();
    for (const name of this.#names) {
      try {
        ip("netns", "del", this.#space(name));
      } catch {
        // It was not made.
      }
    }
  }

  #join(): void {
    for (const [index, name] of this.#names.entries()) {
      const space = this.#space(name);
      const device = `${this.#tag}t${index}`;
      ip("netns", "add", space);
      ip("link", "set", device, "netns", space);
      ip("-n", space, "addr", "add", `${this.#host(index)}/24`, "dev", device);
      ip("-n", space, "link", "set", device, "up");
      ip("-n", space, "link", "set", "lo", "up");
    }
    ip("addr", "add", `${this.#host(this.#names.length)}/24`, "dev", this.#here);
    ip("link", "set", this.#here, "up");
  }

  async #answered(expected: string): Promise<void> {
    const answer = await this.#answers.next();
    const [line] = (answer.done === true ? [] : answer.value) as readonly string[];
    if (line !== expected) throw new Error("the relay of the network has ended");
  }

  /** The device of this machine. */
  get #here(): string {
    return `${this.#tag}t`;
  }

  #host(index: number): string {
    return `${this.#subnet}.${index + 1}`;
  }

  #space(name: string): string {
    return `${this.#tag}-${name}`;
  }
}

function ip(...args: readonly string[]): void {
  execFileSync("ip", args, { stdio: ["ignore", "ignore", "pipe"] });
}
