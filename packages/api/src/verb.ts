/** The properties of a verb in the table of verbs. */

/**
 * Who may call a verb. `open`: anybody, without credentials. `see`: who may see the group; without a group, everybody who is
 * identified. `actAs`: the node that the request names, or an admin. `admin`: an admin; each act goes to the audit log.
 */
export type Access = "open" | "see" | "actAs" | "admin";

/**
 * What a client may do after a lost answer. `freely`: send the request again, although the first may have been carried out.
 * `unsent`: send it again only if it cannot have reached a server.
 */
export type Resend = "freely" | "unsent";

export interface Verb {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  /** The path, with its parameters in braces, as in OpenAPI. */
  readonly path: `/${string}`;
  /** Service and method of gRPC, in the package `tenure.v1`. `null`: the verb is about HTTP itself, or a probe. */
  readonly rpc: `${"Election" | "Groups" | "Operations"}/${string}` | null;
  readonly access: Access;
  readonly resend: Resend;
  readonly answers: "once" | "stream";
  readonly tag: "elections" | "groups" | "operations";
  readonly summary: string;
  readonly description?: string;
  /** `operationId` in the OpenAPI document. Default: the name of the verb. */
  readonly operationId?: string;
  /** The field with the list of a batch. The body may be large, and the rate limit is charged for each item. */
  readonly batch?: "campaigns" | "renewals" | "watches";
  /** `Prefer: leader-metadata` adds the metadata of the leader to the answer. */
  readonly prefer?: true;
  /** The call is aborted when the caller disconnects, because it waits, or because no process would use what it wins. */
  readonly endsWithCaller?: true;
  /** HTTP status of success. Default: 200. */
  readonly status?: 201;
  /** Content type of a reply that is not JSON with a schema. */
  readonly content?: string;
  /** HEAD is answered as well, because some load balancers send it. */
  readonly head?: true;
}

/** A read, or a request that may be repeated. */
export const repeatable = { answers: "once", resend: "freely" } as const;
