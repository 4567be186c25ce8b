import type { ElectionRecord } from "../record.js";

/** What a leader sends to identify its lease when it renews or resigns. */
export interface Claim {
  readonly nodeId: string;
  readonly term: number;
  /** `null`: not sent, so not compared. */
  readonly instanceId: string | null;
}

export function claims(record: ElectionRecord, claim: Claim): boolean {
  const { holder } = record;
  return (
    holder !== null &&
    record.term === claim.term &&
    holder.nodeId === claim.nodeId &&
    (claim.instanceId === null || holder.instanceId === claim.instanceId)
  );
}
