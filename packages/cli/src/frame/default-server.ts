/** The server that a command uses if no other one is named. */
export const DEFAULT_SERVER = "http://127.0.0.1:7420";
