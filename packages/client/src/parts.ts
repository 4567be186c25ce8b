/**
 * What carries the requests of an `HttpElector`, and how it waits. For the simulation, which puts a network of its own in the place
 * of sockets; a program uses `HttpElector.open`.
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
