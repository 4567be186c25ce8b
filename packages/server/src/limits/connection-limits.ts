/** Time limits of a connection, for HTTP and gRPC alike. Tests give shorter ones. */
export interface ConnectionLimits {
  /** A TLS handshake that is not finished in this time is cut off. */
  readonly handshakeMs: number;
  /** A request that has not arrived completely in this time is answered 408. How long its answer takes is not limited here. */
  readonly arrivalMs: number;
  /** How often `arrivalMs` is checked, so a request may take this much longer. */
  readonly checkMs: number;
  /** A client that was sent an error without a request to answer has this long to read it. Then its connection is cut off. */
  readonly lingerMs: number;
}

export const CONNECTION_LIMITS: ConnectionLimits = {
  handshakeMs: 10_000,
  arrivalMs: 30_000,
  checkMs: 2000,
  lingerMs: 1000,
};
