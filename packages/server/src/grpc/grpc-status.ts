import { Metadata, status } from "@grpc/grpc-js";
import { ERRORS } from "@tenure/api/errors";
import { ServiceError } from "../service-error.js";

export interface GrpcStatus {
  readonly code: status;
  readonly details: string;
  readonly metadata: Metadata;
}

/** An error as a gRPC status, with the JSON body of the HTTP API in its metadata. An internal error has no details. */
export function grpcStatusOf(error: unknown, requestId: string): GrpcStatus {
  const metadata = requestIdMetadata(requestId);
  if (!(error instanceof ServiceError)) {
    const message = `internal server error; see the server's log for request id ${requestId}`;
    metadata.set("tenure-error", JSON.stringify({ ok: false, error: "INTERNAL", message }));
    return { code: status.INTERNAL, details: message, metadata };
  }
  metadata.set("tenure-error", asciiJson(error.reply()));
  if (error.retryAfterSeconds !== undefined) metadata.set("retry-after", String(error.retryAfterSeconds));
  return { code: ERRORS[error.code].grpc, details: wellFormed(error.message), metadata };
}

export function requestIdMetadata(requestId: string): Metadata {
  const metadata = new Metadata();
  metadata.set("x-request-id", requestId);
  return metadata;
}

/** JSON in printable ASCII, which is all that metadata may contain. */
function asciiJson(value: unknown): string {
  return JSON.stringify(value).replaceAll(
    /[^ -~]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** grpc-js encodes the message as a URI, and throws an uncaught error at an unpaired surrogate. */
function wellFormed(text: string): string {
  return text.toWellFormed();
}
