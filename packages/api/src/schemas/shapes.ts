/**
 * Every shape that crosses the wire, once: it validates what comes in, serializes what goes out and is the OpenAPI
 * document. Unknown keys and wrong types are refused; nothing is coerced. Bounds that depend on a group's policy are
 * the elector's to check.
 *
 * `title` is the name of a shape's message in gRPC; only a shape that is the whole request or reply of a verb can do without. Shapes
 * of the same title are one message, which has the fields of all of them.
 */
export * from "./attention-shapes.js";
export * from "./common-shapes.js";
export * from "./election-shapes.js";
export * from "./group-shapes.js";
export * from "./history-shapes.js";
export * from "./server-shapes.js";
