import { describe, expect, it } from "vitest";
import { arranged, FIRST_VIEW, pressed, type Row, type View, within } from "./state.js";
import { keysOf } from "./terminal.js";

function row(groupId: string, more: Partial<Row> = {}): Row {
  return {
    groupId,
    leader: "n",
    term: 1,
    leftMs: 1,
    fullMs: 1,
    changesPerHour: 0,
    members: 1,
    state: "led",
    ...more,
  };
}

function after(view: View, ...keys: readonly string[]): View {
  return keys.reduce<View>((seen, key) => {
    const next = pressed(seen, key, "selected");
    if (next === "quit") throw new Error(`${JSON.stringify(key)} ends it`);
    return next.view;
  }, view);
}

const ROWS = [
  row("b", { leader: "z", term: 5, leftMs: 300, changesPerHour: 1, members: 4 }),
  row("a", { state: "vacant", leader: null, term: 9, leftMs: null, changesPerHour: null, members: null }),
  row("c", { leader: "y", term: 2, leftMs: 100, changesPerHour: 7, members: 2 }),
];

describe("the keys of top", () => {
  it.each([
    ["g", "a b c"],
    ["a", "a b c"],
    ["l", "c b a"],
    ["t", "a b c"],
    ["e", "a c b"],
    ["c", "c b a"],
    ["m", "b c a"],
  ])("the key %s sorts", (key, order) => {
    const view = after({ ...FIRST_VIEW, sort: "term" }, key);
    const sorted = key === "t" ? after(FIRST_VIEW, key) : view;
    expect(
      arranged(ROWS, sorted)
        .map(({ groupId }) => groupId)
        .join(" "),
    ).toBe(order);
  });

  it("pressing the same sort key again reverses the order, another key does not", () => {
    expect(arranged(ROWS, after(FIRST_VIEW, "g")).map(({ groupId }) => groupId)).toEqual(["c", "b", "a"]);
    expect(after(FIRST_VIEW, "g", "t").isReversed).toBe(false);
  });

  it("/ filters by group or leader while typing, including letters that are keys", () => {
    const typing = after(FIRST_VIEW, "/", "q", "Z");
    expect(typing).toMatchObject({ isTyping: true, filter: "qZ" });
    const kept = after(typing, "\u007F", "\u007F", "Z", "\r");
    expect(kept).toMatchObject({ isTyping: false, filter: "Z" });
    expect(arranged(ROWS, kept).map(({ groupId }) => groupId)).toEqual(["b"]);
    expect(after(kept, "\u001B").filter).toBe("");
    expect(after(typing, "\u001B")).toMatchObject({ isTyping: false, filter: "" });
  });

  it("keys move the selection, never above the first row", () => {
    expect(after(FIRST_VIEW, "j", "j", "k", "k", "k").selected).toBe(0);
    expect(after(FIRST_VIEW, "\u001B[B", " ", "\u001B[A").selected).toBe(10);
  });

  it("the selection never passes the last row, and the list scrolls with the selection", () => {
    const far = after(FIRST_VIEW, " ", " ", " ");
    expect(within(far, 12, 10)).toMatchObject({ selected: 11, offset: 2 });
    const up = after(within(far, 12, 10), ...Array.from({ length: 10 }, () => "k"));
    expect(within(up, 12, 10)).toMatchObject({ selected: 1, offset: 1 });
    expect(within(far, 3, 10)).toMatchObject({ selected: 2, offset: 0 });
    expect(within(far, 0, 10)).toMatchObject({ selected: 0, offset: 0 });
  });

  it("Enter opens the selected group, Esc and q return to the list, and ? shows the keys until the next key", () => {
    const page = after(FIRST_VIEW, "\r");
    expect(page).toMatchObject({ page: "group", groupId: "selected" });
    expect(after(page, "\u001B")).toMatchObject({ page: "list", groupId: null });
    expect(after(page, "q")).toMatchObject({ page: "list", groupId: null });
    expect(after(FIRST_VIEW, "?").page).toBe("help");
    expect(after(page, "?", "x")).toMatchObject({ page: "group", groupId: "selected" });
  });

  it.each([
    ["p", "pause"],
    ["r", "resume"],
    ["s", "step-down"],
  ])("the key %s begins a %s, which happens only after a reason and Enter", (key, name) => {
    const asked = after(FIRST_VIEW, key);
    expect(asked.act).toEqual({ name, groupId: "selected", reason: "" });
    expect(pressed(asked, "\r", null)).toMatchObject({ perform: null, view: { act: { name } } });
    const reasoned = after(asked, "d", "i", "s", "k");
    expect(pressed(reasoned, "\r", null)).toEqual({
      perform: { name, groupId: "selected", reason: "disk" },
      view: { ...FIRST_VIEW, act: null },
    });
    expect(after(reasoned, "\u001B")).toMatchObject({ act: null, message: `${name} cancelled` });
  });

  it("q ends top, and Ctrl-C does even while a filter is typed", () => {
    expect(pressed(FIRST_VIEW, "q", null)).toBe("quit");
    expect(pressed(after(FIRST_VIEW, "/"), "\u0003", null)).toBe("quit");
  });

  it("several keys in one input are separated, and an escape sequence is one key", () => {
    expect(keysOf("ab\u001B[B\u001B[6~\u001Bq")).toEqual(["a", "b", "\u001B[B", "\u001B[6~", "\u001B", "q"]);
  });
});
