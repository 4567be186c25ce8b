/** What the table of verbs says about each verb. */

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
  /** Parameters in braces, as in OpenAPI. */
  readonly path: `/${string}`;
  /** Service and method of gRPC, in the package `tenure.v1`. `null`: the verb is about HTTP itself, or a probe. */
  readonly rpc: `${"Election" | "Groups" | "Operations"}/${string}` | null;
  readonly access: Access;
  readonly resend: Resend;
  readonly answers: "once" | "stream";
  readonly tag: "elections" | "groups" | "operations";
  readonly summary: string;
  readonly description?: string;
  /** Of the OpenAPI document; by default the name of the verb. */
  readonly operationId?: string;
  /** The list that makes the request many requests in one: it may be large, and each item is charged. */
  readonly batch?: "campaigns" | "renewals" | "watches";
  /** `Prefer: leader-metadata` adds the metadata of the leader to the answer. */
  readonly prefer?: true;
  /** The work ends when the caller hangs up: it waits, or wins something that somebody must want. */
  readonly endsWithCaller?: true;
  /** Of success; by default 200. */
  readonly status?: 201;
  /** The answer is no JSON object of a schema: its content type. */
  readonly content?: string;
  /** HEAD is answered, too: load balancers ask for no more. */
  readonly head?: true;
}

/** A read, or a request that may be repeated. */
export const repeatable = { answers: "once", resend: "freely" } as const;
