/** The checked-in `tenure.proto` is what the generator writes, and no change of a shape changes the meaning of old bytes. */
import { readFileSync } from "node:fs";
import { type TSchema, Type } from "typebox";
import { afterEach, describe, expect, test } from "vitest";
import { cleanUp, temporaryFile } from "../../auth/auth.test-kit.js";
import { PROTO_PATH } from "../proto-services.js";
import type { Shape } from "./messages.js";
import { readRegistry } from "./proto-registry.js";
import { type Method, methodsOfVerbs, protoText } from "./proto-text.js";

afterEach(cleanUp);

type Fields = Record<string, TSchema>;

/** Also where the checked-in file is stale. */
const CURRENT = protoText(methodsOfVerbs(), readRegistry(PROTO_PATH));
const EMPTY = 'syntax = "proto3";\npackage tenure.v1;';

/** What the generator writes over a file with this text. */
function generate(methods: readonly Method[], before: string): string {
  return protoText(methods, readRegistry(temporaryFile("tenure.proto", before)));
}

/** The lines of a message, without comments. */
function messageIn(text: string, name: string): string[] {
  const block = new RegExp(`^message ${name} \\{\\n(.*?)^\\}`, "ms").exec(text)?.[1] ?? "";
  const lines = block.split("\n").map((line) => line.trim());
  return lines.filter((line) => line !== "" && !line.startsWith("//"));
}

/** A file with one method that has these fields in its request. */
function written(fields: Fields, before: string = EMPTY): string {
  const request: Shape = Type.Object(fields);
  const reply: Shape = { properties: {} };
  return generate([{ rpc: "Groups/Try", comment: "Try.", request, reply, isStream: false }], before);
}

test("the checked-in tenure.proto is what the table of verbs and the shapes say", () => {
  const stale =
    "packages/server/proto/tenure.proto is not what its generator writes. Run `npm run generate`, review the difference and commit it.";
  expect(readFileSync(PROTO_PATH, "utf8"), stale).toBe(CURRENT);
});

describe("a change of the verbs and shapes", () => {
  test("without a change the generator writes the same file again", () => {
    expect(generate(methodsOfVerbs(), CURRENT)).toBe(CURRENT);
  });

  test("a new field gets the next free number of its message, wherever its shape has it", () => {
    const first = written({ a: Type.String(), b: Type.String() });
    const second = written({ a: Type.String(), c: Type.Boolean(), b: Type.String() }, first);
    expect(second).toBe(first.replace("  string b = 2;\n", "  string b = 2;\n  bool c = 3;\n"));
    expect(second).not.toBe(first);
  });

  test("a removed field leaves its number and its name reserved in every later file", () => {
    const first = written({ a: Type.String(), b: Type.String() });
    const second = written({ a: Type.String() }, first);
    expect(messageIn(second, "TryRequest")).toEqual(["reserved 2;", 'reserved "b";', "string a = 1;"]);
    expect(written({ a: Type.String() }, second)).toBe(second);
    const third = written({ a: Type.String(), c: Type.String() }, second);
    expect(messageIn(third, "TryRequest").at(-1)).toBe("string c = 3;");
  });

  test("a field that comes back gets a new number, and its old number stays reserved", () => {
    const first = written({ a: Type.String(), b: Type.String(), c: Type.String() });
    const second = written({ a: Type.String() }, first);
    expect(messageIn(second, "TryRequest")).toEqual([
      "reserved 2, 3;",
      'reserved "b", "c";',
      "string a = 1;",
    ]);
    const third = written({ a: Type.String(), b: Type.Integer() }, second);
    expect(messageIn(third, "TryRequest")).toEqual([
      "reserved 2, 3;",
      'reserved "c";',
      "string a = 1;",
      "int64 b = 4;",
    ]);
  });

  test("a verb that the table lacks is removed with its messages, and one that the file lacks is added", () => {
    const fewer = methodsOfVerbs().filter(({ rpc }) => rpc !== "Groups/Transfer");
    const text = generate(fewer, CURRENT);
    expect(text).not.toContain("rpc Transfer(");
    expect(messageIn(text, "TransferResponse")).toEqual([]);
    const added = generate(methodsOfVerbs(), text);
    expect(added).toContain("rpc Transfer(TransferRequest) returns (TransferResponse);");
    expect(messageIn(added, "TransferResponse")).toEqual(messageIn(CURRENT, "TransferResponse"));
  });

  test("another type of a field is refused, because old programs would misread it", () => {
    const text = written({ a: Type.String() });
    expect(() => written({ a: Type.Integer() }, text)).toThrow(
      "TryRequest.a is string in tenure.proto and int64 in the shapes.",
    );
    expect(() => written({ a: Type.Array(Type.String()) }, text)).toThrow(
      "TryRequest.a is string in tenure.proto and repeated string in the shapes.",
    );
  });

  test("another name of a message is refused, because the code of clients names it", () => {
    const renamed = methodsOfVerbs().map((method) => ({
      ...method,
      reply: method.rpc === "Groups/Get" ? { ...method.reply, title: "GroupState" } : method.reply,
    }));
    expect(() => generate(renamed, CURRENT)).toThrow(
      "response of Groups/Get is Group in tenure.proto and GroupState in the shapes.",
    );
  });
});

describe("the message of a shape", () => {
  test("a field that can be absent, or null, or JSON of any shape is optional", () => {
    const text = written({
      name: Type.String(),
      count: Type.Optional(Type.Integer()),
      by: Type.Unsafe({ type: "string", nullable: true }),
      metadata: Type.Record(Type.String(), Type.Unknown()),
      tags: Type.Optional(Type.Array(Type.String())),
    });
    expect(messageIn(text, "TryRequest")).toEqual([
      "string name = 1;",
      "optional int64 count = 2;",
      "optional string by = 3;",
      "optional string metadata = 4;",
      "repeated string tags = 5;",
    ]);
  });

  test("a list that may be null is a message, because an empty list is different from none", () => {
    const list = { ...Type.Array(Type.String()), nullable: true, title: "Names" };
    const text = written({ names: Type.Unsafe(list) });
    expect(messageIn(text, "TryRequest")).toEqual(["Names names = 1;"]);
    expect(messageIn(text, "Names")).toEqual(["repeated string node_ids = 1;"]);
  });

  test("shapes of the same title are one message, whose fields are optional unless all shapes require them", () => {
    const full = Type.Object({ a: Type.String(), b: Type.String() }, { title: "Part" });
    const some = Type.Object({ a: Type.String(), c: Type.Boolean() }, { title: "Part" });
    expect(messageIn(written({ full, some }), "Part")).toEqual([
      "string a = 1;",
      "optional bool c = 2;",
      "optional string b = 3;",
    ]);
    const other = Type.Object({ a: Type.Integer() }, { title: "Part" });
    expect(() => written({ full, other })).toThrow(
      "Part.a is string in one shape and int64 in another of the same title",
    );
  });

  test("descriptions, words and bounds become comments", () => {
    const text = written({
      mode: Type.Enum(["fast", "safe"], { description: "How to work." }),
      count: Type.Integer({ minimum: 1, maximum: 9, description: "How often." }),
      names: Type.Array(Type.String(), { maxItems: 5 }),
    });
    expect(text).toContain('  // "fast" or "safe". How to work.\n  string mode = 1;\n');
    expect(text).toContain("  // How often. 1 to 9.\n  int64 count = 2;\n");
    expect(text).toContain("  // At most 5 items.\n  repeated string names = 3;\n");
  });

  test("a shape that messages cannot express is refused by its place", () => {
    expect(() => written({ part: Type.Object({ a: Type.String() }) })).toThrow(
      "TryRequest.part is a message without a name: give its shape in packages/api a title",
    );
    expect(() => written({ rows: Type.Array(Type.Array(Type.String())) })).toThrow(
      "TryRequest.rows is a list of lists",
    );
    expect(() => written({ either: Type.Union([Type.String(), Type.Integer()]) })).toThrow(
      "TryRequest.either has no form in messages",
    );
  });
});
