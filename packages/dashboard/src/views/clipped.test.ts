import { expect, test } from "vitest";
import { clipped } from "./clipped.js";

test.each([
  ["short", 10, "short"],
  ["shop/orders-shard-07", 20, "shop/orders-shard-07"],
  ["shop/eu-west-1/orders-shard-07", 16, "shop/eu-…hard-07"],
  ["shop/eu-west-1/orders-shard-07", 5, "sh…07"],
  ["ip-10-15-2-17.eu-west-1.compute.internal", 20, "ip-10-15-2-17…"],
  ["view-maintainer-6f9c7b5d8c-0.prod.svc", 14, "view-ma…5d8c-0"],
])("%s clipped to %i characters is %s", (text, most, shown) => {
  expect(clipped(text, most)).toBe(shown);
  expect(clipped(text, most).length).toBeLessThanOrEqual(most);
});
