/** The error codes of the peers' routes, each with its HTTP status. */
export const WIRE_STATUS = {
  invalid_body: 400,
  invalid_term: 400,
  invalid_ttl: 400,
  tc_term_required: 400,
  tc_client_required: 403,
  tc_server_required: 403,
  tc_cluster_identity_missing: 403,
  tc_forbidden: 403,
  txn_unknown: 404,
  tc_unknown_route: 404,
  tc_lease_active: 409,
  tc_term_stale: 409,
  tc_not_leader: 409,
  txn_conflict: 409,
  tc_recovery_refused: 409,
  tc_rm_replication_failed: 502,
  tc_unavailable: 503,
  tc_cluster_unavailable: 503,
  tc_rm_unavailable: 503,
} as const;

export type WireCode = keyof typeof WIRE_STATUS | `missing_${string}`;

export interface WireErrorBody {
  readonly error: string;
  readonly detail: string;
  readonly leader_endpoint?: string;
  readonly retry_after_seconds?: number;
}

export class WireError extends Error {
  readonly code: WireCode;
  readonly extra: Readonly<Record<string, unknown>>;

  constructor(
    code: WireCode,
    detail: string,
    extra: Readonly<Record<string, unknown>> = {},
    options?: ErrorOptions,
  ) {
    super(detail, options);
    this.code = code;
    this.extra = extra;
  }

  get status(): number {
    return WIRE_STATUS[this.code as keyof typeof WIRE_STATUS] ?? 400;
  }

  body(): WireErrorBody {
    const retry = this.status === 503 ? { retry_after_seconds: 1 } : {};
    return { error: this.code, detail: this.message, ...retry, ...this.extra };
  }
}
