import { readdirSync, readFileSync } from "node:fs";

/** Signals a whole process group; false if nothing of it is left. */
export function signalGroup(groupId: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-groupId, signal);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
    throw error;
  }
}

/** Whether anything of the group still runs. A zombie, which is dead but not yet reaped by its parent, does not count. */
export function groupRuns(groupId: number): boolean {
  if (!signalGroup(groupId, 0)) return false;
  const states = statesOf(groupId);
  return states === null || states.some((state) => state !== "Z" && state !== "X");
}

/** `null` if there is no /proc. */
function statesOf(groupId: number): readonly string[] | null {
  let pids: string[];
  try {
    pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  } catch {
    return null;
  }
  return pids.flatMap((pid) => {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
      const [state = "", , group] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      return Number(group) === groupId ? [state] : [];
    } catch {
      return [];
    }
  });
}
