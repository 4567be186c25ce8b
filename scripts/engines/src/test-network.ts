/** Machines on a network that can be cut anywhere: one network namespace each, joined by a bridge. Needs root and `ip`. */
import { execFileSync } from "node:child_process";
import { randomInt } from "node:crypto";
import type { Machine } from "./etcd.js";

/** Numbers the networks of this process, so that the rest of one that was just removed does not collide with the next. */
let networks = 0;

export class TestNetwork {
  readonly #tag: string;
  readonly #bridge: string;
  readonly #subnet: string;
  readonly #names: readonly string[];
  readonly #cuts = new Set<string>();
  readonly #atExit = (): void => this.close();

  constructor(names: readonly string[]) {
    networks += 1;
    this.#tag = `tn${process.pid % 10_000}${String.fromCharCode(96 + (networks % 26))}`;
    this.#names = names;
    process.once("exit", this.#atExit);
    [this.#bridge, this.#subnet] = claimSubnet();
    ip("addr", "add", `${this.#subnet}.254/24`, "dev", this.#bridge);
    ip("link", "set", this.#bridge, "up");
    for (const [index, name] of names.entries()) {
      const space = this.#space(name);
      const outside = `${this.#tag}x${index}`;
      ip("netns", "add", space);
      ip("link", "add", outside, "type", "veth", "peer", "name", "eth0", "netns", space);
      ip("link", "set", outside, "master", this.#bridge, "up");
      ip("-n", space, "addr", "add", `${this.host(name)}/24`, "dev", "eth0");
      ip("-n", space, "link", "set", "eth0", "up");
      ip("-n", space, "link", "set", "lo", "up");
    }
  }

  host(name: string): string {
    return `${this.#subnet}.${this.#names.indexOf(name) + 1}`;
  }

  /** An address that no machine has. */
  get nowhere(): string {
    return `${this.#subnet}.200`;
  }

  machine(name: string): Machine {
    return { host: this.host(name), inside: this.inside(name) };
  }

  /** The prefix of a command that runs it on this machine. */
  inside(name: string): readonly string[] {
    return ["ip", "netns", "exec", this.#space(name)];
  }

  /** Machines receive packets only from machines of the same part. */
  partition(...parts: readonly (readonly string[])[]): void {
    for (const from of this.#names) {
      for (const to of this.#names) {
        const isTogether = parts.some((part) => part.includes(from) && part.includes(to));
        if (from !== to && !isTogether) this.silence(from, to);
      }
    }
  }

  /** Drops what `from` sends to `to`. */
  silence(from: string, to: string): void {
    const cut = `${from} ${to}`;
    if (this.#cuts.has(cut)) return;
    this.#cuts.add(cut);
    ip("-n", this.#space(from), "route", "add", "blackhole", this.host(to));
  }

  heal(): void {
    for (const cut of this.#cuts) {
      const [from = "", to = ""] = cut.split(" ");
      ip("-n", this.#space(from), "route", "del", "blackhole", this.host(to));
    }
    this.#cuts.clear();
  }

  close(): void {
    process.off("exit", this.#atExit);
    // Open connections keep a namespace alive for a while; without its link it has no effect.
    for (const index of this.#names.keys()) tryIp("link", "del", `${this.#tag}x${index}`);
    for (const name of this.#names) tryIp("netns", "del", this.#space(name));
    tryIp("link", "del", this.#bridge);
  }

  #space(name: string): string {
    return `${this.#tag}-${name}`;
  }
}

/**
 * Adds a bridge for a subnet that no other network uses: the bridge is named after the subnet, and of two processes that add
 * a bridge of the same name one fails. The addresses are reserved for tests of networks.
 */
function claimSubnet(): [bridge: string, subnet: string] {
  for (;;) {
    const subnet = `198.${randomInt(18, 20)}.${randomInt(256)}`;
    const bridge = `tn${subnet.replaceAll(".", "-")}`;
    try {
      ip("link", "add", bridge, "type", "bridge");
      return [bridge, subnet];
    } catch (error) {
      if (!String((error as { stderr?: unknown }).stderr).includes("File exists")) throw error;
    }
  }
}

function ip(...args: readonly string[]): void {
  execFileSync("ip", args, { stdio: ["ignore", "ignore", "pipe"] });
}

function tryIp(...args: readonly string[]): void {
  try {
    ip(...args);
  } catch {
    // The namespace was never created.
  }
}
