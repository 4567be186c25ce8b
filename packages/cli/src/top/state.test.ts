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
    isPaused: false,
    isHeldBack: false,
    ...more,
  };
}

function after(view: View, ...keys: readonly string[]): View {
  return keys.reduce<View>((seen, key) => {
    const next = pressed(seen, key);
    if (next === "quit") throw new Error(`${JSON.stringify(key)} ends it`);
    return next;
  }, view);
}

const ROWS = [
  row("b", { leader: "z", term: 5, leftMs: 300, changesPerHour: 1, members: 4 }),
  row("a", { leader: null, term: 9, leftMs: null, changesPerHour: null, members: null }),
  row("c", { leader: "y", term: 2, leftMs: 100, changesPerHour: 7, members: 2 }),
];

describe("the keys of top", () => {
  it.each([
    ["g", "a b c"],
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

  it("top scrolls, never above the first row", () => {
    expect(after(FIRST_VIEW, "j", "j", "k", "k", "k").offset).toBe(0);
    expect(after(FIRST_VIEW, "\u001B[B", " ", "\u001B[A").offset).toBe(10);
  });

  it("top never scrolls past the last row, so one key up has an effect at once", () => {
    const far = after(FIRST_VIEW, " ", " ", " ");
    expect(within(far, 12, 10).offset).toBe(2);
    expect(after(within(far, 12, 10), "k").offset).toBe(1);
    expect(within(far, 3, 10).offset).toBe(0);
  });

  it("q ends top, and Ctrl-C does even while a filter is typed", () => {
    expect(pressed(FIRST_VIEW, "q")).toBe("quit");
    expect(pressed(after(FIRST_VIEW, "/"), "\u0003")).toBe("quit");
  });

  it("several keys in one input are separated, and an escape sequence is one key", () => {
    expect(keysOf("ab\u001B[B\u001B[6~\u001Bq")).toEqual(["a", "b", "\u001B[B", "\u001B[6~", "\u001B", "q"]);
  });
});
