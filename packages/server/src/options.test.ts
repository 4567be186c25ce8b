import { InvalidRequestError } from "@tenure/core";
import { describe, expect, test } from "vitest";
import type { TenureServerOptions } from "./options.js";
import { parseServerOptions } from "./parsed-options.js";

const refusal = (given: object) => {
  try {
    parseServerOptions(given);
  } catch (error) {
    expect(error).toBeInstanceOf(InvalidRequestError);
    const { field, message } = error as InvalidRequestError;
    expect(message.startsWith(`${field} `)).toBe(true);
    return message;
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
      logLevel: "info",
      allowedHosts: null,
      maxGroups: 100_000,
      maxGroupsPerNode: 10_000,
      maxConnections: null,
      explicitGroups: false,
      insecure: false,
    });
    expect(Object.isFrozen(options)).toBe(true);
  });

  test("may be undefined, which is the same as left out", () => {
    const names = Object.keys(parseServerOptions({})) as (keyof TenureServerOptions)[];
    const given = Object.fromEntries(
      names.filter((name) => !["tls", "jwt"].includes(name)).map((name) => [name, undefined]),
    );
    expect(parseServerOptions(given)).toEqual(parseServerOptions({}));
  });

  test("limit callers by default, except programs on the same machine without authentication", () => {
    expect(parseServerOptions({}).rateLimit).toBeNull();
    expect(parseServerOptions({ listen: "[::1]:1" }).rateLimit).toBeNull();
    expect(parseServerOptions({ adminTokenFile: "t" }).rateLimit).toBe(1000);
    expect(parseServerOptions({ listen: "0.0.0.0:1", insecure: true }).rateLimit).toBe(1000);
    expect(parseServerOptions({ rateLimit: 7 }).rateLimit).toBe(7);
    expect(parseServerOptions({ adminTokenFile: "t", rateLimit: 0 }).rateLimit).toBeNull();
  });

  test("one caller gets half of the watches and waiting campaigns by default", () => {
    expect(parseServerOptions({ maxWatches: 7, maxWaitingPerCaller: 3 })).toMatchObject({
      maxWatches: 7,
      maxWatchesPerCaller: 4,
      maxWaiting: 50_000,
      maxWaitingPerCaller: 3,
    });
  });

  test("of JWTs are seconds, and keys are kept for at least one refresh", () => {
    expect(parseServerOptions({ jwtJwks: "k" }).jwt).toMatchObject({
      maxAgeSeconds: 86_400,
      keyRefreshSeconds: 300,
      keyMaxAgeSeconds: 86_400,
    });
    expect(parseServerOptions({ jwtJwks: "k", jwtKeyRefreshSeconds: 100_000 }).jwt).toMatchObject({
      keyRefreshSeconds: 100_000,
      keyMaxAgeSeconds: 100_000,
    });
  });

  test.each([
    [{ lissen: "x" }, "lissen is not known here; known are listen, "],
    [{ listen: "7420" }, 'listen is "7420" and must be HOST:PORT'],
    [{ listen: "a:65536" }, 'listen is "a:65536" and must be HOST:PORT'],
    [{ listen: "::1:80" }, 'listen is "::1:80" and must be HOST:PORT'],
    [{ listen: 7420 }, "listen must be a string"],
    [{ store: null }, "store must be a string"],
    [{ insecure: "true" }, "insecure must be true or false"],
    [{ tlsCert: "c" }, "tlsKey is missing"],
    [{ tlsClientCa: "c" }, "tlsCert is missing"],
    [{ tlsCrl: "c" }, "tlsCrl has no effect without tlsClientCa or bundle"],
    [{ tlsCiphers: "c" }, "tlsCiphers has no effect without tlsCert or bundle"],
    [{ bundle: "b", tlsKey: "k" }, "bundle cannot be combined with tlsCert, tlsKey or tlsClientCa"],
    [{ bundle: "b", tlsMinVersion: "1.1" }, 'tlsMinVersion is "1.1" and must be one of 1.2, 1.3'],
    [{ jwtIssuer: "i" }, "jwtIssuer has no effect without jwtJwks"],
    [{ jwtKeyMaxAgeSeconds: 0 }, "jwtKeyMaxAgeSeconds has no effect without jwtJwks"],
    [{ jwtJwks: "k", jwtKeyRefreshSeconds: 9 }, "jwtKeyRefreshSeconds must be a whole number from 10 to "],
    [
      { jwtJwks: "k", jwtKeyMaxAgeSeconds: 299 },
      "jwtKeyMaxAgeSeconds is 299 and must be at least jwtKeyRefreshSeconds, 300, or 0 for no limit",
    ],
    [{ logLevel: "loud" }, 'logLevel is "loud" and must be one of silent, error, warn, info, debug'],
    [{ logLevel: 3 }, "logLevel must be one of silent, error, warn, info, debug"],
    [{ rateLimit: -1 }, "rateLimit must be a whole number from 0 to 999999999"],
    [{ maxGroups: 0 }, "maxGroups must be a whole number from 1 to 999999999"],
    [{ maxGroups: "10" }, "maxGroups must be a whole number from 1 to 999999999"],
    [{ maxGroupsPerNode: 1.5 }, "maxGroupsPerNode must be a whole number from 1 to"],
    [{ maxConnections: Number.NaN }, "maxConnections must be a whole number from 1 to"],
    [{ maxWatches: 1e9 }, "maxWatches must be a whole number from 1 to 999999999"],
    [{ maxWatches: 5, maxWatchesPerCaller: 6 }, "maxWatchesPerCaller is 6, more than maxWatches, which is 5"],
    [{ maxWaitingPerCaller: 0 }, "maxWaitingPerCaller must be a whole number from 1 to"],
    [{ allowedHosts: "a.example" }, "allowedHosts must be a list of at least one host name"],
    [{ allowedHosts: [] }, "allowedHosts must be a list of at least one host name"],
    [
      { allowedHosts: ["a:7420"] },
      'allowedHosts contains "a:7420"; each name must be without scheme and port',
    ],
    [{ allowedHosts: [7] }, "allowedHosts contains number; each name"],
  ])("the server options %j are refused", (given, message) => {
    expect(refusal(given)).toContain(message);
  });
});
