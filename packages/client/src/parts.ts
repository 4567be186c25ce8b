/**
 * The parts that carry the requests of an `HttpElector`, and its waits: for the simulation, which replaces sockets by its own
 * network. The times that an election derives from its ttl: for `tenure plan`. A program uses `HttpElector.open` and
 * `Election`.
 */
export { ANSWER_SHARE as RENEWAL_ANSWER_SHARE } from "./election/lease-renewer.js";
export { type ParsedElection, parseElection } from "./election/options.js";
export {
  type Answer,
  type Carrier,
  type ExchangeParts,
  type ExchangeRequest,
  NoAnswerError,
  type OpenedStream,
} from "./http/carrier.js";
export { parseOptions as parseHttpOptions } from "./http/options.js";
export { renewalLimitMs } from "./http/time-limits.js";
export { waitInSlices, waitSliceMs } from "./http/wait-in-slices.js";
