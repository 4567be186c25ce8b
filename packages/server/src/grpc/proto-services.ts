import { fileURLToPath } from "node:url";
import type { MethodDefinition } from "@grpc/grpc-js";
import { load } from "@grpc/proto-loader";

/** The directory is beside both `src` and `dist`. It is part of the package, for the use of clients. */
export const PROTO_PATH = fileURLToPath(new URL("../../proto/tenure.proto", import.meta.url));

/** The standard health service, for load balancers and orchestrators. */
export const HEALTH_PROTO_PATH: string = fileURLToPath(
  new URL("../../proto/grpc/health/v1/health.proto", import.meta.url),
);

export interface ProtoMethod {
  /** For the server: it hands requests on as they came. */
  readonly definition: MethodDefinition<Buffer, object>;
  /** Throws if the bytes are no such message. Absent fields stay absent, lists are always there. */
  readonly decode: (bytes: Buffer) => Record<string, unknown>;
}

type ServiceName = "Election" | "Groups" | "Operations" | "Health";

export type ProtoServices = Readonly<Record<ServiceName, Readonly<Record<string, ProtoMethod>>>>;

/**
 * Requests are not decoded by grpc-js: it would do so before anyone knows who asks, and tell a malformed one as a fault of
 * the server.
 */
export async function loadProtoServices(): Promise<ProtoServices> {
  const found = await load([PROTO_PATH, HEALTH_PROTO_PATH], { keepCase: true, longs: Number, arrays: true });
  const methodsOf = (name: string): Record<string, ProtoMethod> =>
    Object.fromEntries(
      Object.entries(found[name] as Record<string, MethodDefinition<object, object>>).map(
        ([method, definition]) => [
          method,
          {
            definition: {
              ...definition,
              requestSerialize: (bytes: Buffer) => bytes,
              requestDeserialize: (bytes: Buffer) => bytes,
            },
            decode: definition.requestDeserialize as ProtoMethod["decode"],
          },
        ],
      ),
    );
  return {
    Election: methodsOf("tenure.v1.Election"),
    Groups: methodsOf("tenure.v1.Groups"),
    Operations: methodsOf("tenure.v1.Operations"),
    Health: methodsOf("grpc.health.v1.Health"),
  };
}
