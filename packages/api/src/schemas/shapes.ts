/**
 * The schemas of all requests and replies. The service validates requests and serializes replies with them, and generates
 * the OpenAPI document and `tenure.proto` from them. Unknown keys and wrong types are refused; nothing is coerced. Bounds
 * that depend on a group's policy are checked by the elector.
 *
 * `title` is the name of the gRPC message. Only a shape that is the whole request or reply of a verb needs none. Shapes with
 * the same title become one message, which has the fields of all of them.
 */
export * from "./attention-shapes.js";
export * from "./common-shapes.js";
export * from "./election-shapes.js";
export * from "./group-shapes.js";
export * from "./history-shapes.js";
export * from "./server-shapes.js";
