/** Where things are in the store. */
export function recordKey(groupId: string): string {
  return `r/${groupId}`;
}

export function historyKey(groupId: string): string {
  return `h/${groupId}`;
}

export function membersKey(groupId: string): string {
  return `m/${groupId}`;
}

/** What an entry is about. */
export interface Place {
  readonly kind: "record" | "history" | "members";
  readonly groupId: string;
}

export function parseKey(key: string): Place | null {
  if (key.startsWith("r/")) return { kind: "record", groupId: key.slice(2) };
  if (key.startsWith("h/")) return { kind: "history", groupId: key.slice(2) };
  if (key.startsWith("m/")) return { kind: "members", groupId: key.slice(2) };
  return null;
}
