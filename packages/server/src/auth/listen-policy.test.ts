import { describe, expect, it } from "vitest";
import { isLoopback, listenDanger } from "./listen-policy.js";

describe("listening without authentication", () => {
  const check = (host: string) =>
    listenDanger({ host, isAuthenticated: false, takesTokens: false, isTls: false })?.refusal(String);

  it("without authentication the service listens on loopback addresses", () => {
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

  it("without authentication the service refuses other addresses, and says what to do", () => {
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
      expect([host, check(host)]).toEqual([host, expect.stringContaining("or set insecure")]);
    }
    expect(check("")).toContain("all addresses");
    expect(check("10.0.0.1")).toContain("10.0.0.1");
  });
});

describe("listening with authentication", () => {
  const check = (host: string, takesTokens: boolean, isTls: boolean) =>
    listenDanger({ host, isAuthenticated: true, takesTokens, isTls })?.refusal(String);

  it("with authentication the service listens anywhere with TLS, and on loopback without", () => {
    for (const host of ["0.0.0.0", "10.0.0.1", "::"]) {
      expect(check(host, true, true)).toBeUndefined();
      expect(check(host, false, true)).toBeUndefined();
    }
    expect(check("127.0.0.1", true, false)).toBeUndefined();
  });

  it("the service does not accept bearer tokens in clear text from other machines, and says what to do", () => {
    for (const host of ["0.0.0.0", "", "10.0.0.1", "::", "example.org"]) {
      expect(check(host, true, false)).toMatch(/clear text.*tlsCert.*127\.0\.0\.1.*insecure/);
    }
  });
});
