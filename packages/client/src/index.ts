/**
 * The client library of Tenure.
 *
 * `HttpElector` is the `Elector` port over a Tenure service: through any of its servers, with one request at a time for each
 * call, and with time limits that leave a leader room before its deadline. It decides nothing about leading: until when
 * a process may act is `LedTerm`'s to say, from the moment before the call.
 */
export {
  HttpElectorError,
  type HttpErrorCode,
  RateLimitedError,
  UnauthenticatedError,
  UnexpectedAnswerError,
} from "./http/errors.js";
export { HttpElector } from "./http/http-elector.js";
export type { HttpElectorOptions, TlsOptions, TokenSource } from "./http/options.js";
