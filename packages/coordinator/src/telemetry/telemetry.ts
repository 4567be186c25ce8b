/**
 * The events of a coordinator: one channel of `node:diagnostics_channel` per event, `tenure:coordinator:NAME`.
 * Listening is optional. A listener that throws causes an uncaught exception, as usual in Node.
 */
import { channel, subscribe, unsubscribe } from "node:diagnostics_channel";

export const COORDINATOR_EVENTS = [
  "became_leader",
  "lost_leadership",
  "leader_changed",
  "leader_down",
  "election_started",
  "election_check",
  "member_health",
  "child_started",
  "child_crashed",
  "child_restarted",
] as const;

export type CoordinatorEvent = (typeof COORDINATOR_EVENTS)[number];

export interface CoordinatorMessage {
  readonly event: CoordinatorEvent;
  readonly measurements: Readonly<Record<string, number>>;
  readonly metadata: Readonly<Record<string, string | number | boolean | null>>;
}

export function channelName(event: CoordinatorEvent): string {
  return `tenure:coordinator:${event}`;
}

export function publish(message: CoordinatorMessage): void {
  channel(channelName(message.event)).publish(message);
}

/** A short reason that can be a label: why a leadership was lost, or the new state of a member. */
export function reasonOf({ event, metadata }: Pick<CoordinatorMessage, "event" | "metadata">): string {
  if (event === "lost_leadership") return String(metadata["reason"]);
  return event === "member_health" ? String(metadata["to"] ?? "forgotten") : "";
}

/** The child that an event concerns, as a label. */
export function childOf({ metadata }: Pick<CoordinatorMessage, "metadata">): { child?: string } {
  const { child } = metadata;
  return typeof child === "string" ? { child } : {};
}

/** Calls the listener with every event until the returned function is called. */
export function listen(listener: (message: CoordinatorMessage) => void): () => void {
  const hear = (message: unknown) => listener(message as CoordinatorMessage);
  for (const event of COORDINATOR_EVENTS) subscribe(channelName(event), hear);
  return () => {
    for (const event of COORDINATOR_EVENTS) unsubscribe(channelName(event), hear);
  };
}
