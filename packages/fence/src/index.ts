/**
 * The fence kit: what refuses the late writes of a leader that has been replaced.
 *
 * Promised: once a term was admitted to a resource, no lower one is, whatever the clocks say, as long as the cell or
 * table that keeps the highest term keeps it. With the Postgres guard, a transaction of an older term is over before one
 * of a newer term passes. When a fence cannot tell, it admits nobody.
 *
 * Not promised: that work which was admitted is stopped when a later term comes (only the Postgres guard orders whole
 * pieces of work), nor that a term is genuine, unless mandates are asked for.
 */
export {
  CommitUncertainError,
  FenceError,
  type FenceErrorCode,
  FenceUnavailableError,
  InvalidMandateError,
  MandateExpiredError,
  type MandateProblem,
  NotLeaderError,
  StaleTermError,
  TransactionEndedError,
} from "./errors.js";
export { FileTermCell, type FileTermCellOptions } from "./gate/file-term-cell.js";
export { MemoryTermCell, type TermCell } from "./gate/term-cell.js";
export { type Admission, type TermClaim, TermGate, type TermGateOptions } from "./gate/term-gate.js";
export { fastifyFence, type FastifyReplyLike, type FastifyRequestLike } from "./http/fastify-fence.js";
export { fencedFetch, type Leading, type LeadingSource } from "./http/fenced-fetch.js";
export { FENCE_HEADERS } from "./http/headers.js";
export { admissionOf, type AdmittedRequest, type HttpFenceOptions } from "./http/http-fence.js";
export { expressFence, nodeFence, type RequestLike, type ResponseLike } from "./http/node-fence.js";
export type { MandateKeys } from "./mandates/key-source.js";
export {
  type ExpectedMandate,
  MandateVerifier,
  type MandateVerifierOptions,
  type VerifiedMandate,
} from "./mandates/mandate-verifier.js";
export { fenced, type FencedOptions } from "./postgres/fenced.js";
export { POSTGRES_FENCE_SQL, STALE_TERM_SQLSTATE } from "./postgres/schema.js";
export type { SqlClient, SqlResult } from "./postgres/sql-client.js";
export { asStaleTermError } from "./postgres/sql-errors.js";
