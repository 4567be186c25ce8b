import { BackendUnavailableError, TenureError } from "@tenure/core";

/** The numbers of gRPC, which has them in a library that is loaded late. */
const CODE = { invalidArgument: 3, permissionDenied: 7, unauthenticated: 16 } as const;

/**
 * A call that failed, and what that says about what was asked, by its gRPC code alone.
 *
 * Refused: nothing of it was executed or ever will be. etcd answers with these codes before it proposes a request, or
 * before it applies one (a login that is too old); and the gRPC library gives none of them to a request that etcd has
 * executed.
 *
 * Every other code says nothing. UNAVAILABLE is a connection that broke as well as "no leader" and "timed out", after
 * which a write may still come. RESOURCE_EXHAUSTED is "too many requests" as well as "no space", which is also etcd's
 * answer to the very write that filled its space, after it was applied. UNIMPLEMENTED is also what the library makes of
 * an answer that was lost on its way.
 */
export class CallFailure extends Error {
  override readonly name = "CallFailure";
  readonly isRefusal: boolean;
  /** Refused, perhaps for want of a token, or of one that is valid and from after the last change of roles. */
  readonly asksForLogin: boolean;

  constructor(message: string, code: number | "not sent", options?: ErrorOptions) {
    super(message, options);
    this.asksForLogin = code === CODE.unauthenticated || code === CODE.invalidArgument;
    this.isRefusal = this.asksForLogin || code === CODE.permissionDenied || code === "not sent";
  }
}

/** Whether a request that failed so was certainly not executed. The reason of a signal never says that. */
export function isRefusal(cause: unknown): boolean {
  return cause instanceof CallFailure && cause.isRefusal;
}

/** A failure as callers of the store know it. */
export function unavailable(cause: unknown): TenureError {
  if (cause instanceof TenureError) return cause;
  return new BackendUnavailableError(`etcd did not serve the request: ${messageOf(cause)}`, { cause });
}

export function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
