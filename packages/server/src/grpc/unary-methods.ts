/** The methods with one answer, made from the table of verbs. */
import type { handleUnaryCall } from "@grpc/grpc-js";
import { type UnaryVerb, type Verb, VERBS } from "@tenure/api";
import { VERB_SCHEMAS, type VerbSchema } from "@tenure/api/schemas";
import type { Asked } from "../asked.js";
import { invalid } from "../service-error.js";
import { GrpcCall } from "./grpc-call.js";
import type { GrpcDeps } from "./grpc-deps.js";
import { requestIdMetadata } from "./grpc-status.js";
import { messageWriter } from "./message-codec.js";
import { requestShape } from "./message-shapes.js";
import type { ProtoMethod } from "./proto-services.js";
import { requestParser } from "./request-parser.js";

/** The limit of a request body in HTTP. */
export const MESSAGE_BYTES: number = 64 * 1024;
/** The limit of a batch, as in HTTP: a thousand renewals need more room. */
export const MANY_BYTES: number = 1024 * 1024;

type Message = Readonly<Record<string, unknown>>;

/** From and to the forms that only messages have. */
const READERS: { readonly [V in UnaryVerb]?: (input: Message) => Message } = {
  updateGroup: ({ allow_all_nodes, ...patch }) => (allow_all_nodes === true ? allowingAll(patch) : patch),
  // An empty text is how many languages say none.
  groups: ({ cursor, ...query }) => (cursor === "" ? query : { cursor, ...query }),
};

const WRITERS: { readonly [V in UnaryVerb]?: (reply: Message) => Message } = {
  whoami: ({ groups, ...rest }) => ({ ...rest, groups: groups ?? [], all_groups: groups === null }),
};

export function unaryHandler(
  name: UnaryVerb,
  proto: ProtoMethod,
  deps: GrpcDeps,
): handleUnaryCall<Buffer, object> {
  const { path, batch, endsWithCaller }: Verb = VERBS[name];
  const { reply: replySchema }: VerbSchema = VERB_SCHEMAS[name];
  const hasGroup = path.includes("{group_id}");
  const parse = requestParser(requestShape(name));
  const read = READERS[name] ?? asItIs;
  const write =
    WRITERS[name] ?? (messageWriter(replySchema) as ((reply: Message) => Message) | null) ?? asItIs;
  const answer = deps.service[name].bind(deps.service) as (asked: Asked) => Promise<object>;
  const maxBytes = batch === undefined ? MESSAGE_BYTES : MANY_BYTES;
  return (call, callback) => {
    const current = new GrpcCall(call, proto.definition.path, deps);
    const answered = async (): Promise<object> => {
      const { caller, charge } = await current.admit();
      const message = parse(current.read(call.request, proto, maxBytes)) as Message;
      const { group_id: groupId, ...rest } = message;
      const reply = await answer({
        caller,
        groupId: hasGroup ? (groupId as string) : "",
        input: read(hasGroup ? rest : message),
        charge,
        signal: endsWithCaller === true ? current.callerGoneSignal() : undefined,
        response: current.response,
      });
      return write(reply as Message);
    };
    answered().then(
      (reply) => {
        current.succeed();
        callback(null, reply, requestIdMetadata(current.requestId));
      },
      (error: unknown) => callback(current.fail(error)),
    );
  };
}

function asItIs(message: Message): Message {
  return message;
}

function allowingAll(patch: Message): Message {
  if (patch["allowed_nodes"] === undefined) return { ...patch, allowed_nodes: null };
  throw invalid("allow_all_nodes", "must not be combined with allowed_nodes");
}
