import { expect, it } from "vitest";
import { patched } from "./patch.js";

const file = "core/x.ts";
const source = `function won(
  record: ElectionRecord,
  nodeId: string,
): boolean {
  return record.holder !== null
    && record.holder.nodeId === nodeId;
}
`;

it("a patch matches whatever the layout of its text and of the source", () => {
  const find = "won(record: ElectionRecord, nodeId: string): boolean { return record.holder!==null &&";
  expect(patched(source, { file, find, replace: "is(nodeId) { return" }, "m")).toBe(
    "function is(nodeId) { return record.holder.nodeId === nodeId;\n}\n",
  );
});

it("a patch leaves the code around its text unchanged", () => {
  const find = "nodeId: string";
  expect(patched(source, { file, find, replace: "$& $1" }, "m")).toBe(source.replace(find, () => "$& $1"));
});

it.each([
  ["nowhere", "no such text", 0],
  ["more than once", "record.holder", 2],
  ["everywhere because it is empty", " \n", source.length + 1],
])("a patch that matches %s is refused", (_, find, count) => {
  expect(() => patched(source, { file, find, replace: "" }, "m")).toThrow(
    `mutant m: ${JSON.stringify(find)} occurs ${count} times in core/x.ts, it must occur once`,
  );
});
