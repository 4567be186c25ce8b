import { describe, expect, it } from "vitest";
import { checkListen, isLoopback } from "./listen-policy.js";

describe("without authentication the service", () => {
  const check = (host: string) => checkListen({ host, isAuthenticated: false, isInsecure: false });

  it("listens on loopback addresses", () => {
    for (const host of [
      "127.0.0.1",
      "127.8.9.10",
      "::1",
      "[::1]",
      "localhost",
      "LocalHost",
      "::ffff:127.0.0.1",
    ]) {
      expect([host, check(host)]).toEqual([host, undefined]);
      expect(isLoopback(host)).toBe(true);
    }
  });

  it("listens nowhere else, and says what to do", () => {
    const hosts = [
      "0.0.0.0",
      "::",
      "",
      "10.0.0.1",
      "128.0.0.1",
      "example.org",
      "localhost.example.org",
      "127.1",
    ];
    for (const host of [
      ...hosts,
      "0177.0.0.1",
      "127.0.0.1.nip.io",
      "::2",
      "::ffff:10.0.0.1",
      "::1%eth0",
      "2130706433",
    ]) {
      expect([host, check(host)]).toEqual([host, expect.stringContaining("--insecure")]);
    }
    expect(check("")).toContain("all addresses");
    expect(check("10.0.0.1")).toContain("10.0.0.1");
  });

  it("listens anywhere if the operator insists", () => {
    expect(checkListen({ host: "0.0.0.0", isAuthenticated: false, isInsecure: true })).toBeUndefined();
  });
});

describe("with authentication the service", () => {
  it("listens anywhere", () => {
    expect(checkListen({ host: "0.0.0.0", isAuthenticated: true, isInsecure: false })).toBeUndefined();
  });
});
