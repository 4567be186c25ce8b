import * as fc from "fast-check";
import { expect, test } from "vitest";
import { inParts } from "./connection.js";

test("parts keep the order and both limits, and only a single item that is too large exceeds one", () => {
  const limits = { count: 4, bytes: 10 };
  fc.assert(
    fc.property(fc.array(fc.nat(14)), (sizes) => {
      const parts = inParts(sizes, limits, (size) => size);
      expect(parts.flat()).toEqual(sizes);
      for (const part of parts) {
        const bytes = part.reduce((sum, size) => sum + size, 0);
        expect(part.length).toBeGreaterThan(0);
        expect(part.length <= limits.count && (bytes <= limits.bytes || part.length === 1)).toBe(true);
      }
    }),
  );
});
