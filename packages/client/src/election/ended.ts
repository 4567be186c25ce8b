/** The reason for aborts whose reason is never read. Without one, each abort would create an error with a stack trace. */
export const ENDED: Error = new Error("it has ended");
