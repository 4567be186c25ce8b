import type { Access } from "../frame/connection.js";

/** One server of the service, and how to be let in. */
export interface ServerOf {
  /** Without a slash at its end. */
  readonly url: string;
  readonly access: Access;
}
