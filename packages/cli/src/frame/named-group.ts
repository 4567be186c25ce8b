/** A group that the user named: if there is none, the error suggests the groups that the name may have meant. */
import { CodedError } from "@tenure/core/internal";
import type { ElectorAdmin } from "@tenure/core";
import { nearest, suggestion } from "./near.js";

/** How many groups are compared with the name. */
const PAGE = 1000;

export class NoGroupError extends CodedError<"GROUP_NOT_FOUND"> {
  readonly code = "GROUP_NOT_FOUND";

  constructor(groupId: string, near: readonly string[], options?: ErrorOptions) {
    const next = suggestion(near, "list the groups with tenure groups list");
    super(`no group ${groupId}; ${next}`, options);
  }
}

/** Runs calls for a group; rejects with `NoGroupError` if one of them finds no such group. */
export async function ofGroup<T>(
  elector: ElectorAdmin,
  groupId: string,
  signal: AbortSignal,
  calls: () => Promise<T>,
): Promise<T> {
  try {
    return await calls();
  } catch (error) {
    if ((error as { code?: unknown }).code !== "GROUP_NOT_FOUND") throw error;
    throw new NoGroupError(groupId, await nearGroups(elector, groupId, signal), { cause: error });
  }
}

/** At most two pages: groups that begin like the name, otherwise the first groups of all. */
async function nearGroups(elector: ElectorAdmin, groupId: string, signal: AbortSignal): Promise<string[]> {
  const slash = groupId.lastIndexOf("/");
  const prefixes = [slash > 0 ? groupId.slice(0, slash + 1) : groupId.slice(0, 2), ""];
  for (const prefix of prefixes) {
    try {
      const query = { limit: PAGE, ...(prefix === "" ? {} : { prefix }) };
      const page = await elector.groups(query, { signal });
      const near = nearest(
        groupId,
        page.groups.map((each) => each.groupId),
      );
      if (near.length > 0) return near;
    } catch {
      // Without the permission to list groups there is no suggestion; the error itself remains.
      signal.throwIfAborted();
    }
  }
  return [];
}
