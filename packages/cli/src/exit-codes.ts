/** What a command's end means to a script. */
export const EXIT = { done: 0, failed: 1, wrongUse: 2, notLeader: 3, unavailable: 4 } as const;
