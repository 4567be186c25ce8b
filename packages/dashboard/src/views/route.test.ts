import { expect, test } from "vitest";
import { EVERY_ROW } from "../model/row-filter.js";
import { filterOf, sortText } from "./list-query.js";
import { groupHref, hrefWith, parsePlace } from "./route.js";

test.each(["billing", "a/b?c=d&e#f", "ä %"])(
  "the page of the group %j is found by its address",
  (groupId) => {
    const { route, query } = parsePlace(`${groupHref(groupId)}?range=1h`);
    expect(route).toEqual({ kind: "group", groupId });
    expect(query.get("range")).toBe("1h");
  },
);

test("an address that names no page is the list of groups", () => {
  for (const hash of ["", "#/", "#/nowhere", "#/groups/", "#/groups/%E0%A4%A"]) {
    expect(parsePlace(hash).route).toEqual({ kind: "groups" });
  }
});

test("what is picked on the list is read back from its address", () => {
  const filter = { text: "a b&c", state: "held back", sort: { by: "term", isReversed: true } } as const;
  const href = hrefWith("", { q: filter.text, state: filter.state, sort: sortText(filter.sort) });
  expect(filterOf(parsePlace(href).query)).toEqual(filter);
  expect(hrefWith("", { q: "", state: "", sort: sortText(EVERY_ROW.sort) })).toBe("#/");
  expect(filterOf(new URLSearchParams("state=nonsense&sort=-nonsense"))).toEqual(EVERY_ROW);
});
