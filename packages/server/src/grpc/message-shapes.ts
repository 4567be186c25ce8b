/**
 * What the messages of each verb contain. Most are the shapes of the JSON API: a request has the path parameter, the query and the
 * body of HTTP. The forms that only messages have are here, because Protobuf cannot tell an absent field from JSON's `null`, and
 * because a stream of messages has no long polls, ids and comments. Requests are parsed by these shapes, and `npm run generate`
 * writes them as `proto/tenure.proto`.
 */
import { type StreamVerb, type UnaryVerb, VERBS } from "@tenure/api";
import {
  ErrorReply,
  EventShape,
  GroupParams,
  NumberedEvent,
  Type,
  VERB_SCHEMAS,
  WatchManyBody,
  WatchQuery,
} from "@tenure/api/schemas";
import type { TObject, TSchema } from "typebox";

const closed = { additionalProperties: false } as const;
const { cursor } = WatchQuery.properties;

export const WATCH_REQUESTS = {
  watch: Type.Object({ ...GroupParams.properties, cursor }, closed),
  watchAll: Type.Object({ cursor }, closed),
  watchMany: Type.Object({ watches: WatchManyBody.properties.watches }, closed),
} as const satisfies Readonly<Record<StreamVerb, TObject>>;

const MORE_FIELDS: { readonly [V in UnaryVerb]?: TObject["properties"] } = {
  updateGroup: {
    allow_all_nodes: Type.Optional(
      Type.Boolean({ description: "JSON's `allowed_nodes: null`: from now on every node may win." }),
    ),
  },
};

const { error, message, field, problem } = ErrorReply.properties;

const WatchReply = Type.Object(
  { event: EventShape, cursor: Type.String() },
  {
    title: "WatchResponse",
    description:
      "A watch ends with UNAVAILABLE when the server stops or loses its store. Watch again with the cursor received last.",
  },
);

const REPLIES: { readonly [V in UnaryVerb | StreamVerb]?: TObject } = {
  watch: WatchReply,
  watchAll: WatchReply,
  watchMany: Type.Object(
    {
      event: Type.Optional(NumberedEvent),
      refusal: Type.Optional(
        Type.Object(
          { group_id: Type.String(), error, message, field, problem },
          {
            title: "WatchRefusal",
            description: "A group that the caller may not watch. The stream of the other groups continues.",
          },
        ),
      ),
    },
    { description: "Either an event, whose number is the cursor of its group, or a refusal." },
  ),
  whoami: Type.Object({
    ...VERB_SCHEMAS.whoami.reply.properties,
    groups: Type.Array(Type.String(), {
      description: "Patterns of the groups that the caller may see, unless all_groups is set.",
    }),
    all_groups: Type.Boolean({ description: "JSON's `groups: null`." }),
  }),
};

export function requestShape(name: UnaryVerb | StreamVerb): TObject {
  if (isStream(name)) return WATCH_REQUESTS[name];
  const params = VERBS[name].path.includes("{group_id}") ? GroupParams.properties : {};
  return Type.Object({ ...params, ...VERB_SCHEMAS[name].request.properties, ...MORE_FIELDS[name] }, closed);
}

export function replyShape(name: UnaryVerb | StreamVerb): TSchema {
  return REPLIES[name] ?? VERB_SCHEMAS[name].reply;
}

function isStream(name: UnaryVerb | StreamVerb): name is StreamVerb {
  return name in WATCH_REQUESTS;
}
