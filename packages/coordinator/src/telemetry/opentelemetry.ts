import { type CoordinatorMessage, listen } from "./telemetry.js";

/** The part of OpenTelemetry's `Meter` and `Tracer` that is used here. */
export interface TelemetryApi {
  readonly meter?: {
    createCounter(
      name: string,
      options?: { readonly description?: string },
    ): { add(value: number, attributes?: Record<string, string>): void };
  };
  readonly tracer?: {
    startSpan(
      name: string,
      options?: { readonly attributes?: Record<string, string | number | boolean> },
    ): { end(): void };
  };
}

/** Each event as a count and as a span without length, until the function it returns is called. */
export function coordinatorTelemetry({ meter, tracer }: TelemetryApi): () => void {
  const counter = meter?.createCounter("tenure.coordinator.events", {
    description: "Events of the coordinator election.",
  });
  return listen(({ event, metadata, measurements }: CoordinatorMessage) => {
    const known = Object.entries({ ...metadata, ...measurements }).filter(([, value]) => value !== null);
    const attributes = Object.fromEntries(known) as Record<string, string | number | boolean>;
    counter?.add(1, { event, node: String(metadata["node"]) });
    tracer?.startSpan(`tenure.coordinator.${event}`, { attributes }).end();
  });
}
