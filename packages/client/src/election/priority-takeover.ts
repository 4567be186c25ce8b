import {
  ConflictError,
  type Elector,
  type ElectorAdmin,
  InvalidRequestError,
  UnauthorizedError,
} from "@tenure/core";

const POLICY = { strategy: "priority", preempt: true } as const;

/**
 * Whether a higher priority takes over is part of the group's policy. This sets the policy, which needs an operator's
 * rights.
 */
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
