import { readFileSync } from "node:fs";
import type { Server, Socket } from "node:net";
import type { Clock } from "@tenure/core";
import type { Logger } from "pino";

/** Where the system does not say how many files a process may open. */
const DEFAULT_MAX_CONNECTIONS = 10_000;
/** A connection costs about 8 KB: past this memory is the limit, and an operator has to choose. */
const MAX_DEFAULT_CONNECTIONS = 65_536;
/** File descriptors that are left to the store, files and outgoing connections. */
const RESERVED_FILES = 128;
const LOG_INTERVAL_MS = 10_000;

/**
 * Limits the connections of all ports together, so that the process never runs out of file descriptors: then it could neither
 * accept nor read a renewed certificate, and would say nothing. What is over is closed at once, and logged.
 */
export class ConnectionLimit {
  readonly #max: number;
  readonly #clock: Clock;
  readonly #log: Pick<Logger, "warn">;
  readonly #open = new Map<Server, number>();
  #refused = 0;
  #loggedAtMs = Number.NEGATIVE_INFINITY;

  constructor(max: number, clock: Clock, log: Pick<Logger, "warn">) {
    this.#max = max;
    this.#clock = clock;
    this.#log = log;
  }

  get count(): number {
    let count = 0;
    for (const open of this.#open.values()) count += open;
    return count;
  }

  guard(server: Server): void {
    this.#change(server, 0);
    server.on("connection", (socket: Socket) => {
      this.#change(server, 1);
      socket.once("close", () => this.#change(server, -1));
    });
    server.on("drop", () => this.#refuse());
  }

  /** Each server may have what the others have left. Node takes 0 for no limit. */
  #change(server: Server, by: number): void {
    this.#open.set(server, (this.#open.get(server) ?? 0) + by);
    const { count } = this;
    for (const [each, open] of this.#open) each.maxConnections = Math.max(1, this.#max - (count - open));
  }

  #refuse(): void {
    this.#refused++;
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#loggedAtMs < LOG_INTERVAL_MS) return;
    this.#loggedAtMs = nowMs;
    this.#log.warn(
      { open: this.count, max: this.#max, refused: this.#refused },
      `connections refused: ${this.#max} connections are open, the limit of --max-connections`,
    );
    this.#refused = 0;
  }
}

/** By the limit of open files that `/proc/self/limits` shows, where there is such a file. */
export function defaultMaxConnections(limits: string | null = readLimits()): number {
  const found = /^Max open files\s+(\d+|unlimited)\s/m.exec(limits ?? "")?.[1];
  if (found === undefined) return DEFAULT_MAX_CONNECTIONS;
  const files = found === "unlimited" ? Number.POSITIVE_INFINITY : Number(found);
  const reserved = Math.min(RESERVED_FILES, Math.ceil(files / 4));
  return Math.max(1, Math.min(files - reserved, MAX_DEFAULT_CONNECTIONS));
}

function readLimits(): string | null {
  try {
    return readFileSync("/proc/self/limits", "utf8");
  } catch {
    return null;
  }
}
