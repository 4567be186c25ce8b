import { InvalidRequestError } from "@tenure/core";

/** What is used of a connection of `@nats-io/transport-node`, by its shape: the library is only needed to use it. */
export interface NatsConnectionLike {
  publish(subject: string): void;
  subscribe(subject: string): unknown;
  status(): AsyncIterable<unknown>;
  closed(): Promise<unknown>;
  isClosed(): boolean;
}

const METHODS = ["publish", "subscribe", "status", "closed", "isClosed"] as const;

/** Throws if it is not a connection. */
export function checkConnection(connection: unknown): void {
  const given = connection as Partial<Record<(typeof METHODS)[number], unknown>> | null;
  if (METHODS.every((name) => typeof given?.[name] === "function")) return;
  throw new InvalidRequestError("connection", "must be a NatsConnection of @nats-io/transport-node");
}
