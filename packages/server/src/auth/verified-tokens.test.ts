import { describe, expect, it } from "vitest";
import { readBearerToken } from "./bearer-token.js";
import type { Caller } from "./caller.js";
import { VerifiedTokens } from "./verified-tokens.js";

const token = (text: string) => readBearerToken(`Bearer ${text}`);
const caller: Caller = { kind: "jwt", role: "admin", name: "ada" };

describe("VerifiedTokens", () => {
  it("the number of cached tokens is limited, and the least recently used is dropped first", () => {
    const tokens = new VerifiedTokens(5, 2);
    tokens.remember(token("a"), caller, { exp: 100 });
    tokens.remember(token("b"), caller, { exp: 100 });
    expect(tokens.find(token("a"), 0)).toBe(caller);
    tokens.remember(token("c"), caller, { exp: 100 });
    expect(tokens.size).toBe(2);
    expect(tokens.find(token("b"), 0)).toBeUndefined();
    expect(tokens.find(token("a"), 0)).toBe(caller);
  });

  it("a cached token is dropped when it is over, or when the clock was set back before its time", () => {
    const tokens = new VerifiedTokens(5);
    tokens.remember(token("a"), caller, { exp: 100, nbf: 50 });
    expect(tokens.find(token("a"), 104_999)).toBe(caller);
    expect(tokens.find(token("a"), 45_000)).toBe(caller);
    expect(tokens.find(token("a"), 44_999)).toBeUndefined();
    tokens.remember(token("a"), caller, { exp: 100 });
    expect(tokens.find(token("a"), 105_000)).toBeUndefined();
    expect(tokens.size).toBe(0);
  });
});
