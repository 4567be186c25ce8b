/** `grpc.health.v1.Health`: whether the server is ready, for probes. They need no credentials, and show nothing about groups. */
import type { handleUnaryCall, UntypedServiceImplementation } from "@grpc/grpc-js";
import { Type } from "@tenure/api/schemas";
import { type Clock, sleep } from "@tenure/core";
import { ServiceError } from "../service-error.js";
import { GrpcCall } from "./grpc-call.js";
import type { GrpcDeps } from "./grpc-deps.js";
import { requestIdMetadata } from "./grpc-status.js";
import type { ProtoMethod } from "./proto-services.js";
import { requestParser } from "./request-parser.js";
import { streaming } from "./stream-method.js";
import { MESSAGE_BYTES } from "./unary-methods.js";

/** The empty name stands for the whole server. */
const SERVICES: ReadonlySet<string> = new Set([
  "",
  "tenure.v1.Election",
  "tenure.v1.Groups",
  "tenure.v1.Operations",
]);
/** How often a watch checks the status. */
const LOOK_MS = 1000;
/** Limit of open watches. It is low, because callers are not authenticated. */
const MAX_HEALTH_WATCHES = 100;

type Serving = "SERVING" | "NOT_SERVING" | "SERVICE_UNKNOWN";

const parse = requestParser(Type.Object({ service: Type.Optional(Type.String()) }));

export function healthHandlers(
  { Check, Watch }: Readonly<Record<string, ProtoMethod>>,
  deps: GrpcDeps,
): UntypedServiceImplementation {
  if (Check === undefined || Watch === undefined) throw new Error("the health service lacks a method");
  const { isReady, stopping, clock } = deps;
  const look = async (): Promise<Serving> =>
    !stopping.aborted && (await isReady()) ? "SERVING" : "NOT_SERVING";
  const check: handleUnaryCall<Buffer, object> = (call, callback) => {
    const current = new GrpcCall(call, Check.definition.path, deps);
    const answered = async (): Promise<object> => {
      current.admitProbe();
      const { service = "" } = parse(current.read(call.request, Check, MESSAGE_BYTES));
      if (!SERVICES.has(service)) throw unknownService(service);
      return { status: await look() };
    };
    answered().then(
      (reply) => {
        current.succeed();
        callback(null, reply, requestIdMetadata(current.requestId));
      },
      (error: unknown) => callback(current.fail(error)),
    );
  };
  let watches = 0;
  return {
    Check: check,
    Watch: streaming(Watch, deps, async (current, call, signal) => {
      current.admitProbe();
      const { service = "" } = parse(current.read(call.request, Watch, MESSAGE_BYTES));
      if (watches >= MAX_HEALTH_WATCHES) {
        const message = `this server has ${MAX_HEALTH_WATCHES} open health watches, which is its limit; use Check`;
        throw new ServiceError("TOO_MANY_WAITING", message, {}, { retryAfterSeconds: 1 });
      }
      watches++;
      return changes(SERVICES.has(service) ? look : async () => "SERVICE_UNKNOWN", {
        clock,
        signal,
        leave: () => watches--,
      });
    }),
  };
}

/** Yields the status at once, then each change, and a last one when the signal aborts. */
async function* changes(
  look: () => Promise<Serving>,
  { clock, signal, leave }: { clock: Clock; signal: AbortSignal; leave: () => void },
): AsyncGenerator<object, undefined> {
  try {
    for (let last: Serving | null = null; ;) {
      const status = await look();
      if (status !== last) yield { status };
      last = status;
      if (signal.aborted) return undefined;
      await sleep(clock, LOOK_MS, signal).catch(() => {});
    }
  } finally {
    leave();
  }
}

function unknownService(service: string): ServiceError {
  const known = [...SERVICES].filter((each) => each !== "").join(", ");
  return new ServiceError("NOT_FOUND", `service is "${service}"; known are ${known} and "" for all of them`, {
    field: "service",
  });
}
