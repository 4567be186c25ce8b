import {
  ConflictError,
  type Elector,
  type ElectorAdmin,
  InvalidRequestError,
  UnauthorizedError,
} from "@tenure/core";

const POLICY = { strategy: "priority", preempt: true } as const;

/** The group's policy, not the candidate, lets a higher priority take over; whoever may, sets it. */
export async function allowPriorityTakeover(
  elector: Elector,
  groupId: string,
  signal: AbortSignal,
): Promise<void> {
  const operator = elector as Partial<ElectorAdmin> & Elector;
  if (operator.createGroup === undefined || operator.updateGroup === undefined) {
    throw new InvalidRequestError("priorityTakeover", "is true, but this elector has no policies");
  }
  try {
    await operator.createGroup({ groupId, policy: POLICY }, { signal });
  } catch (error) {
    if (error instanceof UnauthorizedError) {
      const todo = `set strategy "priority" and preempt for group ${groupId} as an operator, and leave it out here`;
      throw new InvalidRequestError("priorityTakeover", `needs an operator's rights; ${todo}`, {
        cause: error,
      });
    }
    if (!(error instanceof ConflictError)) throw error;
    await operator.updateGroup({ groupId, policy: POLICY }, { signal });
  }
}
