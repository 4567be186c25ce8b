/** Batches: each item has its own result, in its place, whatever happens to the other items. */
import type { shapes } from "@tenure/api";
import { invalid, ServiceError } from "./service-error.js";

interface OfGroup {
  readonly group_id: string;
}

/** A refused item has its error as result. An internal error rejects the whole batch. */
export async function batchResults<Q extends OfGroup, A extends object>(
  all: readonly Q[],
  answer: (each: Q, index: number) => Promise<A>,
): Promise<{ results: (OfGroup & (A | shapes.ErrorReply))[] }> {
  const results = all.map(async (each, index) => {
    const { group_id } = each;
    try {
      return { group_id, ...(await answer(each, index)) };
    } catch (error) {
      if (error instanceof ServiceError) return { group_id, ...error.reply() };
      throw error;
    }
  });
  return { results: await Promise.all(results) };
}

/** Refuses a batch that names a group twice, because the results are identified by their groups. */
export function checkNamedOnce(field: string, all: readonly OfGroup[]): void {
  const seen = new Set<string>();
  for (const [index, { group_id }] of all.entries()) {
    if (seen.has(group_id)) {
      throw invalid(`${field}[${index}].group_id`, "is named twice");
    }
    seen.add(group_id);
  }
}
