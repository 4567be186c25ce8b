import { Type } from "typebox";
import { whoamiShape } from "../wire/codec.js";
import { type UnaryMethod, unaryMethod } from "./unary-method.js";

const Nothing = Type.Object({}, { additionalProperties: false });

export const operationsMethods: Readonly<Record<string, UnaryMethod>> = {
  Whoami: unaryMethod(Nothing, async (_, { caller }) => {
    const { groups, ...rest } = whoamiShape(caller);
    return { ...rest, groups: groups ?? [], all_groups: groups === null };
  }),
  Keys: unaryMethod(Nothing, async (_, { service }) => ({
    keys: service.keys().keys.map((key) => JSON.stringify(key)),
  })),
};
