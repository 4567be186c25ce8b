/** The shapes of what a server reports about itself: its description and its samples. */
import type { Static } from "typebox";
import { Type } from "./type.js";
import { closed, orNull } from "./common-shapes.js";

export const ServerReply = Type.Object({
  version: Type.String({ description: "Version of the server, such as 1.2.3." }),
  store: Type.String({
    description: "Kind of the store: embedded, memory, etcd, nats, postgres or zookeeper.",
  }),
  started_at_ms: Type.Integer({ description: "When the server started, in milliseconds since 1970." }),
  now_ms: Type.Integer({ description: "The clock of the server, in milliseconds since 1970." }),
  docs_url: Type.String({ description: "Path of the page that documents this API." }),
  auth: Type.Enum(["none", "required"], {
    description: "none: no authentication is configured, and every caller is an admin.",
  }),
});

const since = "Only samples that were taken after this time, in milliseconds since 1970. Default 0: all.";

export const SamplesQuery = Type.Object(
  { since_ms: Type.Optional(Type.String({ description: since })) },
  closed,
);
export const SamplesRequest = Type.Object(
  { since_ms: Type.Optional(Type.Integer({ minimum: 0, description: since })) },
  closed,
);

const latency = (what: string) =>
  orNull(Type.Number({ description: `${what} Accurate to 2 %. Null: there was none in this interval.` }));

export const Sample = Type.Object(
  {
    ts_ms: Type.Integer({ description: "The end of the interval, in milliseconds since 1970." }),
    led: Type.Integer({ description: "Groups that have a leader." }),
    vacant: Type.Integer({ description: "Groups that have no leader, although one is expected." }),
    renewals_per_s: Type.Number({
      description: "Leases that this server renewed; each lease of a batch counts.",
    }),
    requests_per_s: Type.Number({ description: "Requests that this server answered; a batch counts once." }),
    request_p50_ms: latency(
      "Median duration of requests that cannot wait: all but campaigns, transfers and watches.",
    ),
    request_p99_ms: latency("99th percentile of the same durations."),
    leader_changes_per_min: Type.Integer({
      description: "New leaders in the minute before ts_ms, of all groups.",
    }),
    failover_p50_ms: latency(
      "Median time from the last sign of an old leader to the next leader, of all groups.",
    ),
    failover_max_ms: latency("The longest of these times."),
    watches: Type.Integer({ description: "Open watches." }),
    waiting: Type.Integer({ description: "Waiting campaigns." }),
    event_loop_ms: Type.Number({
      description: "The longest time for which the server could not react to anything.",
    }),
    memory_bytes: Type.Integer({ description: "Memory of the process (resident set)." }),
  },
  { title: "Sample" },
);

export const SamplesReply = Type.Object({
  interval_ms: Type.Integer({ description: "Time between two samples." }),
  samples: Type.Array(Sample, { description: "Oldest first; those of the last hour at most." }),
});

export type Sample = Static<typeof Sample>;
export type SamplesReply = Static<typeof SamplesReply>;
export type ServerReply = Static<typeof ServerReply>;
