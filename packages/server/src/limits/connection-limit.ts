import { readFileSync } from "node:fs";
import type { Server, Socket } from "node:net";
import type { Clock } from "@tenure/core";
import type { Logger } from "pino";

/** Time limits of a connection, for HTTP and gRPC alike. Tests give shorter ones. */
export interface ConnectionLimits {
  /** A TLS handshake that is not finished in this time is cut off. */
  readonly handshakeMs: number;
  /** A request that has not arrived completely in this time is answered 408. How long its answer takes is not limited here. */
  readonly arrivalMs: number;
  /** How often `arrivalMs` is checked, so a request may take this much longer. */
  readonly checkMs: number;
  /** A client that was sent an error without a request to answer has this long to read it. Then its connection is cut off. */
  readonly lingerMs: number;
}

export const CONNECTION_LIMITS: ConnectionLimits = {
  handshakeMs: 10_000,
  arrivalMs: 30_000,
  checkMs: 2000,
  lingerMs: 1000,
};

/** The default where the limit of open files is not known. */
const DEFAULT_MAX_CONNECTIONS = 10_000;
/** A connection costs about 8 KB: beyond this number memory is the limit, and the operator has to choose one. */
const MAX_DEFAULT_CONNECTIONS = 65_536;
/** File descriptors that are left to the store, files and outgoing connections. */
const RESERVED_FILES = 128;
const LOG_INTERVAL_MS = 10_000;

/**
 * Limits the connections of all ports together, so that the process never runs out of file descriptors: it could then neither
 * accept connections nor read a renewed certificate, without any message. A connection beyond the limit is closed at once, and
 * logged.
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

  /** Each server may use what the others leave. At least 1, because 0 means no limit to Node. */
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

/** Derived from the limit of open files in `/proc/self/limits`, if that file exists. */
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
