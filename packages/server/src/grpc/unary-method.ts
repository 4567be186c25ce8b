import type { handleUnaryCall } from "@grpc/grpc-js";
import type { Static, TSchema } from "typebox";
import type { Caller } from "../auth/caller.js";
import type { ElectionService } from "../election-service.js";
import type { Telling } from "../wire/codec.js";
import { GrpcCall } from "./grpc-call.js";
import type { GrpcParts } from "./grpc-parts.js";
import { requestIdMetadata } from "./grpc-status.js";
import type { ProtoMethod } from "./proto-services.js";
import { requestParser } from "./request-parser.js";

/** As of a body in HTTP. */
export const MESSAGE_BYTES: number = 64 * 1024;

export interface Asked {
  readonly service: ElectionService;
  readonly caller: Caller;
  /** Takes what the request costs beyond one request, from the rate limit of the caller. */
  readonly charge: (cost: number) => void;
  /** What answers show, as the caller prefers. */
  readonly telling: Telling;
  /** For what waits: it ends when nobody is there to hear. */
  readonly hangUp: () => AbortSignal;
}

/** A verb with one answer. */
export interface UnaryMethod {
  readonly mostBytes: number;
  readonly answer: (message: Record<string, unknown>, asked: Asked) => Promise<object>;
}

export function unaryMethod<S extends TSchema>(
  schema: S,
  run: (request: Static<S>, asked: Asked) => Promise<object>,
  mostBytes: number = MESSAGE_BYTES,
): UnaryMethod {
  const parse = requestParser(schema);
  return { mostBytes, answer: async (message, asked) => run(parse(message), asked) };
}

export function unaryHandler(
  { mostBytes, answer }: UnaryMethod,
  proto: ProtoMethod,
  parts: GrpcParts,
): handleUnaryCall<Buffer, object> {
  const { service } = parts;
  return (call, callback) => {
    const current = new GrpcCall(call, proto.definition.path, parts);
    const answered = async (): Promise<object> => {
      const { caller, charge } = await current.admit();
      const message = current.read(call.request, proto, mostBytes);
      return answer(message, {
        service,
        caller,
        charge,
        telling: current.telling,
        hangUp: () => current.hangUp(),
      });
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
