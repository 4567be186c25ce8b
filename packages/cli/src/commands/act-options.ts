/** The options of all commands that act on a group. */
export const BY = [
  "--by <name>",
  "name of the operator; a server takes the name from the credentials instead",
] as const;

export const REASON = ["--reason <text>", "reason, shown with the act in history, why and audit"] as const;
