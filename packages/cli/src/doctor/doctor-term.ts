/** A term in a group of the doctor command, for test writes. The group is deleted afterwards. */
import { randomUUID } from "node:crypto";
import { ConflictError, type ElectorAdmin, type RenewRequest, UnauthorizedError } from "@tenure/core";
import { defaultOperator } from "../frame/connection.js";
import { type Finding, messageOf, note, wrong } from "./finding.js";

/** All runs of doctor use the same group, because the record of a group is never removed completely. */
export const DOCTOR_GROUP = "tenure-doctor";
const NODE_ID = "tenure-doctor";
const TTL_MS = 30_000;

/** Passes a function that renews the term to `work`. If the store cannot be written, that is a finding too. */
export async function withDoctorTerm(
  elector: ElectorAdmin,
  signal: AbortSignal,
  work: (renewal: RenewRequest) => Promise<Finding[]>,
): Promise<Finding[]> {
  const claim = { groupId: DOCTOR_GROUP, nodeId: NODE_ID, instanceId: randomUUID() };
  const about = "writing";
  try {
    await elector.createGroup({ groupId: DOCTOR_GROUP }).catch((error: unknown) => {
      if (!(error instanceof ConflictError)) throw error;
    });
    const won = await elector.campaign({ ...claim, ttlMs: TTL_MS }, { signal });
    if (won.kind === "lost")
      return [note(about, "skipped: another doctor is running", "run doctor again in 30 seconds")];
    const { term } = won.leader;
    try {
      return await work({ ...claim, term, ttlMs: TTL_MS });
    } finally {
      await elector.resign({ ...claim, term });
      await elector.deleteGroup({ groupId: DOCTOR_GROUP, by: defaultOperator() });
    }
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof UnauthorizedError) {
      const advice = "use an admin's credentials to measure the store and the clocks";
      return [note(about, `skipped: ${error.message}`, advice)];
    }
    return [
      wrong(about, `failed: ${messageOf(error)}`, "check that the store has a quorum and free disk space"),
    ];
  }
}
