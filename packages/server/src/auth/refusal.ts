import { ServiceError } from "../service-error.js";

/** Credentials that are missing, bad or outdated, told in a sentence that helps whoever has to mend them. */
export function unauthenticated(message: string, cause?: unknown): ServiceError {
  return new ServiceError("UNAUTHENTICATED", message, {}, cause === undefined ? undefined : { cause });
}
