import { Metadata, status } from "@grpc/grpc-js";
import { type ServiceCode, ServiceError } from "../service-error.js";

/** Each refusal of the service, as gRPC has words for it. */
const GRPC_STATUS: Readonly<Record<ServiceCode, status>> = {
  INVALID_REQUEST: status.INVALID_ARGUMENT,
  INVALID_TTL: status.INVALID_ARGUMENT,
  UNAUTHENTICATED: status.UNAUTHENTICATED,
  UNAUTHORIZED: status.PERMISSION_DENIED,
  FOREIGN_REQUEST: status.PERMISSION_DENIED,
  GROUP_NOT_FOUND: status.NOT_FOUND,
  NOT_FOUND: status.NOT_FOUND,
  NOT_LEADER: status.FAILED_PRECONDITION,
  CONFLICT: status.FAILED_PRECONDITION,
  BODY_TOO_LARGE: status.RESOURCE_EXHAUSTED,
  RATE_LIMITED: status.RESOURCE_EXHAUSTED,
  TOO_MANY_GROUPS: status.RESOURCE_EXHAUSTED,
  TOO_MANY_WAITING: status.RESOURCE_EXHAUSTED,
  BACKEND_UNAVAILABLE: status.UNAVAILABLE,
};

export interface GrpcStatus {
  readonly code: status;
  readonly details: string;
  readonly metadata: Metadata;
}

/** A failure as a status, with the JSON body of the HTTP API beside it. What is no refusal is a fault of ours: no details. */
export function grpcStatusOf(error: unknown, requestId: string): GrpcStatus {
  const metadata = requestIdMetadata(requestId);
  if (!(error instanceof ServiceError)) {
    const message = `this server failed; its log tells more under request id ${requestId}`;
    metadata.set("tenure-error", JSON.stringify({ ok: false, error: "INTERNAL", message }));
    return { code: status.INTERNAL, details: message, metadata };
  }
  metadata.set("tenure-error", asciiJson(error.reply()));
  if (error.retryAfterSeconds !== undefined) metadata.set("retry-after", String(error.retryAfterSeconds));
  return { code: GRPC_STATUS[error.code], details: wellFormed(error.message), metadata };
}

export function requestIdMetadata(requestId: string): Metadata {
  const metadata = new Metadata();
  metadata.set("x-request-id", requestId);
  return metadata;
}

/** Metadata takes printable ASCII only. JSON can say everything in it. */
function asciiJson(value: unknown): string {
  return JSON.stringify(value).replaceAll(
    /[^ -~]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** grpc-js encodes the message as a URI and throws, in nobody's try, at half a character. */
function wellFormed(text: string): string {
  return text.replaceAll(/\p{Surrogate}/gu, "\ufffd");
}
