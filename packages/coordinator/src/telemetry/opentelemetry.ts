import { childOf, type CoordinatorMessage, listen, reasonOf } from "./telemetry.js";

interface Adder {
  add(value: number, attributes?: Record<string, string>): void;
}

/** The part of OpenTelemetry's `Meter` and `Tracer` that is used here. */
export interface TelemetryApi {
  readonly meter?: {
    createCounter(name: string, options?: { readonly description?: string }): Adder;
    createUpDownCounter(name: string, options?: { readonly description?: string }): Adder;
  };
  readonly tracer?: {
    startSpan(
      name: string,
      options?: { readonly attributes?: Record<string, string | number | boolean> },
    ): { end(): void };
  };
}

/** Records each event as a count and as a span without length, until the returned function is called. */
export function coordinatorTelemetry({ meter, tracer }: TelemetryApi): () => void {
  const counter = meter?.createCounter("tenure.coordinator.events", {
    description: "Events of the coordinator election.",
  });
  const leads = meter?.createUpDownCounter("tenure.coordinator.is_leader", {
    description: "1 while this node is the coordinator.",
  });
  const leading = new Set<string>();
  return listen(({ event, metadata, measurements }: CoordinatorMessage) => {
    const known = Object.entries({ ...metadata, ...measurements }).filter(([, value]) => value !== null);
    const attributes = Object.fromEntries(known) as Record<string, string | number | boolean>;
    const node = String(metadata["node"]);
    const reason = reasonOf({ event, metadata });
    counter?.add(1, { event, node, ...(reason === "" ? {} : { reason }), ...childOf({ metadata }) });
    if (event === "became_leader") {
      leading.add(node);
      leads?.add(1, { node });
    } else if (event === "lost_leadership" && leading.delete(node)) {
      leads?.add(-1, { node });
    }
    tracer?.startSpan(`tenure.coordinator.${event}`, { attributes }).end();
  });
}
