/** What the answers of JetStream mean, by their numbers. Texts change between versions and are only handed on. */
import { BackendUnavailableError, InvalidRequestError, type Revision, type TenureError } from "@tenure/core";
import type { Msg } from "@nats-io/transport-node";

/** An error that JetStream answered with. */
class JetStreamError extends Error {
  readonly code: number;

  constructor(code: number, description: string) {
    super(`JetStream error ${code}: ${description}`);
    this.code = code;
  }

  override get name(): string {
    return "JetStreamError";
  }
}

export const JETSTREAM = {
  clusterNoPeers: 10_005,
  notEnabledForAccount: 10_039,
  streamNameInUse: 10_058,
  streamNotFound: 10_059,
  wrongLastSequence: 10_071,
  replicasNotSupported: 10_074,
  notEnabled: 10_076,
  wrongLastSequenceInProcess: 10_164,
} as const;

export const WITHOUT_JETSTREAM =
  "needs JetStream, which is not enabled on this server; start nats-server with --jetstream";

/** Where asking again changes nothing until somebody changes the server or the options. */
const LASTING: ReadonlyMap<number, readonly [field: string, problem: string]> = new Map([
  [JETSTREAM.notEnabled, ["store", WITHOUT_JETSTREAM]],
  [JETSTREAM.notEnabledForAccount, ["store", "needs JetStream, which is not enabled for this account"]],
  [JETSTREAM.replicasNotSupported, ["replicas", "must be 1, for this server is not part of a cluster"]],
  [JETSTREAM.clusterNoPeers, ["replicas", "must not be more than the servers of the cluster that have room"]],
]);

/**
 * The write was refused because of its expected revision, or because another write to the same entry is under way: the server that
 * answers this has not written it and will not. That server need not be the leader (see `Flight`).
 */
const REFUSALS: ReadonlySet<number> = new Set([
  JETSTREAM.wrongLastSequence,
  JETSTREAM.wrongLastSequenceInProcess,
]);

/** What became of one publish, as far as its answer tells. */
export type PublishAnswer =
  | { readonly kind: "written"; readonly revision: Revision }
  | { readonly kind: "refused" }
  /** No server accepted the write: the stream has no leader now, or does not exist. Certainly not written. */
  | { readonly kind: "unserved" }
  | { readonly kind: "unknown"; readonly cause: Error };

interface ApiAnswer {
  readonly error?: { readonly code: number; readonly err_code?: number; readonly description?: string };
  readonly stream?: string;
  readonly seq?: number;
}

const REFUSED: PublishAnswer = { kind: "refused" };
const UNSERVED: PublishAnswer = { kind: "unserved" };
const NO_RESPONDERS = 503;

/** The server reports that the subject has no subscriber. */
export function isUnserved(reply: Msg): boolean {
  return reply.data.length === 0 && reply.headers?.code === NO_RESPONDERS;
}

/**
 * Errors other than those above leave a doubt: in a cluster the leader may fail to store (a full disk) what the others
 * have stored, and only its own answer is heard.
 */
export function readPublishAnswer(reply: Msg, stream: string): PublishAnswer {
  if (isUnserved(reply)) return UNSERVED;
  let answer: ApiAnswer;
  try {
    answer = reply.json<ApiAnswer>();
  } catch (cause) {
    return { kind: "unknown", cause: cause as Error };
  }
  if (answer.error !== undefined) {
    const cause = errorOf(answer.error);
    return REFUSALS.has(cause.code) ? REFUSED : { kind: "unknown", cause };
  }
  if (answer.stream !== stream || !Number.isSafeInteger(answer.seq)) {
    return { kind: "unknown", cause: new Error(`an answer of ${String(answer.stream)}, not of ${stream}`) };
  }
  return { kind: "written", revision: answer.seq as Revision };
}

/** The answer to a request of the JetStream API. */
export function readApiAnswer<T>(reply: Msg): T {
  const answer = reply.json<T & ApiAnswer>();
  if (answer.error !== undefined) throw errorOf(answer.error);
  return answer;
}

export function isJetStreamError(error: unknown, code: number): boolean {
  return error instanceof JetStreamError && error.code === code;
}

/** The error that ends opening; `null` if it may pass and asking again is worth it, which it is not once it `isOver`. */
export function lastingFailure(error: unknown, isOver: boolean): TenureError | null {
  if (error instanceof InvalidRequestError) return error;
  if (!(error instanceof JetStreamError)) return null;
  // A cluster that has just started does not know its servers yet.
  if (error.code === JETSTREAM.clusterNoPeers && !isOver) return null;
  const found = LASTING.get(error.code);
  return found === undefined ? null : new InvalidRequestError(...found, { cause: error });
}

export function unserved(bucket: string): BackendUnavailableError {
  return new BackendUnavailableError(
    `no server serves the bucket ${bucket}: its stream has no leader at the moment, or was removed`,
  );
}

function errorOf({ code, err_code, description = "" }: NonNullable<ApiAnswer["error"]>): JetStreamError {
  return new JetStreamError(err_code ?? code, description);
}
