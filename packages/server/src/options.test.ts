import { describe, expect, test } from "vitest";
import { parseServerOptions } from "./options.js";

const refusal = (given: object) => {
  try {
    parseServerOptions(given);
  } catch (error) {
    return (error as Error).message;
  }
  return null;
};

describe("parseServerOptions", () => {
  test("server options have defaults and are frozen", () => {
    const options = parseServerOptions({});
    expect(options).toMatchObject({
      listen: { host: "127.0.0.1", port: 7420 },
      grpc: null,
      store: "embedded:./tenure-data",
      tls: null,
      jwt: null,
      explicitGroups: false,
      insecure: false,
    });
    expect(Object.isFrozen(options)).toBe(true);
  });

  test("callers are rate-limited by default, except on loopback without authentication", () => {
    expect(parseServerOptions({}).rateLimit).toBeNull();
    expect(parseServerOptions({ listen: "[::1]:1" }).rateLimit).toBeNull();
    expect(parseServerOptions({ adminTokenFile: "t" }).rateLimit).toBe(1000);
    expect(parseServerOptions({ listen: "0.0.0.0:1", insecure: true }).rateLimit).toBe(1000);
    expect(parseServerOptions({ rateLimit: "7" }).rateLimit).toBe(7);
    expect(parseServerOptions({ adminTokenFile: "t", rateLimit: "0" }).rateLimit).toBeNull();
  });

  test("one caller gets half of the watches and waiting campaigns by default", () => {
    expect(parseServerOptions({ maxWatches: "7", maxWaitingPerCaller: "3" })).toMatchObject({
      maxWatches: 7,
      maxWatchesPerCaller: 4,
      maxWaiting: 50_000,
      maxWaitingPerCaller: 3,
    });
  });

  test.each([
    [{ lissen: "x" }, "lissen is unknown; known options are listen, "],
    [{ listen: "7420" }, 'listen is "7420" and must be HOST:PORT'],
    [{ listen: "a:65536" }, 'listen is "a:65536" and must be HOST:PORT'],
    [{ listen: "::1:80" }, 'listen is "::1:80" and must be HOST:PORT'],
    [{ tlsCert: "c" }, "tls-key is missing"],
    [{ tlsClientCa: "c" }, "tls-cert is missing"],
    [{ jwtIssuer: "i" }, "jwt-issuer has no effect without jwt-jwks"],
    [{ logLevel: "loud" }, 'log-level is "loud" and must be one of silent, error, warn, info, debug'],
    [{ rateLimit: "-1" }, 'rate-limit is "-1" and must be a whole number'],
    [{ maxGroups: "0" }, 'max-groups is "0" and must be a whole number of at least 1'],
    [{ maxGroupsPerNode: "x" }, 'max-groups-per-node is "x" and must be a whole number of at least 1'],
    [{ maxWatches: "0" }, 'max-watches is "0" and must be a whole number of at least 1'],
    [
      { maxWatches: "5", maxWatchesPerCaller: "6" },
      "max-watches-per-caller is 6, more than max-watches, which is 5",
    ],
    [{ maxWaitingPerCaller: "0" }, 'max-waiting-per-caller is "0" and must be a whole number of at least 1'],
  ])("the server options %j are refused", (given, message) => {
    expect(refusal(given)).toContain(message);
  });
});
