/** Batches: each item has its own result, in its place, whatever happens to the other items. */
import type { shapes } from "@tenure/api";
import { invalid, ServiceError } from "./service-error.js";

interface OfGroup {
  readonly group_id: string;
}

type Result<A extends object> = OfGroup & (A | shapes.ErrorReply);

/** A refused item has its error as result. An internal error rejects the whole batch. */
export async function batchResults<Q extends OfGroup, A extends object>(
  all: readonly Q[],
  answer: (each: Q, index: number) => A | Promise<A>,
): Promise<{ results: Result<A>[] }> {
  const results = all.map((each, index) => resultOf(each.group_id, () => answer(each, index)));
  // A list of a thousand renewals has nothing to wait for here.
  if (!results.some(isPromise)) return { results: results as Result<A>[] };
  return { results: await Promise.all(results.map(async (each) => each)) };
}

function resultOf<A extends object>(
  group_id: string,
  answer: () => A | Promise<A>,
): Result<A> | Promise<Result<A>> {
  const refused = (error: unknown): Result<A> => {
    if (error instanceof ServiceError) return { group_id, ...error.reply() };
    throw error;
  };
  try {
    const answered = answer();
    if (isPromise(answered)) return answered.then((each) => ({ group_id, ...each }), refused);
    return { group_id, ...answered };
  } catch (error) {
    return refused(error);
  }
}

function isPromise<T>(value: T | Promise<T>): value is Promise<T> {
  return value instanceof Promise;
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
