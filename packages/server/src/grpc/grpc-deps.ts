import type { Clock } from "@tenure/core";
import type { Logger } from "pino";
import type { OpenRequests } from "../auth/open-requests.js";
import type { ElectionService } from "../election-service.js";
import type { Admission } from "../limits/admission.js";
import type { ConnectionLimit, ConnectionLimits } from "../limits/connection-limit.js";
import type { ServiceMetrics } from "../metrics/service-metrics.js";
import type { RequestsInFlight } from "../requests-in-flight.js";
import type { Activity } from "../samples/activity.js";

/** The same instances that HTTP uses: a caller has one rate limit and one set of metrics over both transports. */
export interface GrpcDeps {
  readonly service: ElectionService;
  readonly admission: Admission;
  readonly openRequests: OpenRequests;
  readonly metrics: ServiceMetrics;
  readonly activity: Activity;
  readonly inFlight: RequestsInFlight;
  readonly clock: Clock;
  readonly log: Logger;
  /** Whether the store answers. */
  readonly isReady: () => Promise<boolean>;
  /** Aborted when the server begins to stop. */
  readonly stopping: AbortSignal;
  readonly connections: ConnectionLimit;
  /** Address and port of each open connection that a call came over. */
  readonly callers: Set<string>;
  readonly connectionLimits: ConnectionLimits;
}
