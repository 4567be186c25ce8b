/**
 * The parts that carry the requests of an `HttpElector`, and its waits. For the simulation, which replaces sockets by
 * its own network; a program uses `HttpElector.open`.
 */
export {
  type Answer,
  type Carrier,
  type ExchangeParts,
  type ExchangeRequest,
  NoAnswerError,
  type OpenedStream,
} from "./http/carrier.js";
export { waitInSlices } from "./http/wait-in-slices.js";
