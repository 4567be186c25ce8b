import { InvalidRequestError } from "@tenure/core";
import { describe, expect, test } from "vitest";
import { checkOptions, parsePostgresUrl, type PostgresStoreOptions } from "./options.js";

const SERVERS = [{ host: "a", port: 5432 }];

describe("the PostgreSQL URL", () => {
  test("a PostgreSQL URL names servers, user, database, our own parameters and those of pg", () => {
    const url =
      "postgres://us%40er:p%2Fw@a,b:5433,[::1]:5434/da%20ta?schema=mine&pool=8&poll_ms=100&migrate=false&listen=false&sslmode=verify-full&sslrootcert=/ca.pem&application_name=x";
    expect(parsePostgresUrl(url)).toEqual({
      servers: [
        { host: "a", port: 5432 },
        { host: "b", port: 5433 },
        { host: "::1", port: 5434 },
      ],
      user: "us@er",
      password: "p/w",
      database: "da ta",
      schema: "mine",
      poolSize: 8,
      pollMs: 100,
      migrate: false,
      listen: false,
      settings: { sslmode: "verify-full", sslrootcert: "/ca.pem", application_name: "x" },
    });
  });

  test("a PostgreSQL URL may leave almost everything out", () => {
    const { servers, schema, poolSize, pollMs, migrate, listen, user } = checkOptions(
      parsePostgresUrl("postgresql://a"),
    );
    expect({ servers, schema, poolSize, pollMs, migrate, listen, user }).toEqual({
      servers: SERVERS,
      schema: "tenure",
      poolSize: 4,
      pollMs: undefined,
      migrate: true,
      listen: undefined,
      user: undefined,
    });
  });

  test("a PostgreSQL URL names the directory of a Unix socket percent-encoded", () => {
    const { servers } = parsePostgresUrl("postgres://%2Fvar%2Frun%2Fpostgresql/tenure");
    expect(servers).toEqual([{ host: "/var/run/postgresql", port: 5432 }]);
  });

  test.each([
    ["postgres://a?schema=", /schema=; must be 1 to 63 letters/],
    ["postgres://a?schema=pg_mine", /schema=pg_mine; must be .* not with pg_/],
    [`postgres://a?schema=${"x".repeat(64)}`, /must be 1 to 63 letters/],
    ["postgres://a?schema=x%22y", /must be 1 to 63 letters/],
    ["postgres://a?pool=0", /pool=0; must be a whole number from 1 to 100/],
    ["postgres://a?poll_ms=10001", /poll_ms=10001; must be a whole number from 1 to 10000/],
    ["postgres://a?migrate=no", /migrate=no; must be true or false/],
    ["postgres://a?listen=1", /listen=1; must be true or false/],
    ["postgres://a?query_timeout=1", /parameter "query_timeout"; must be one of schema, pool/],
    ["postgres://user:secret@a,,b", /names the server ""/],
    ["postgres://user:secret@%2Fvar%zz/x", /names the server %2Fvar%zz, which is not well percent-encoded/],
  ])("the PostgreSQL URL %s is refused, and the error names the mistake", (url, reason) => {
    const refusal = (): unknown => parsePostgresUrl(url);
    expect(refusal).toThrow(reason);
    expect(refusal).toThrow(InvalidRequestError);
    expect(refusal).not.toThrow(/secret/);
  });
});

describe("the options of PostgresStore", () => {
  test.each([
    ["servers", { servers: [] }],
    ["servers[0].host", { servers: [{ host: "", port: 1 }] }],
    ["servers[0].port", { servers: [{ host: "a", port: 0 }] }],
    ["servers[0]", { servers: ["http://a"] }],
    ["password", { servers: SERVERS, password: 1 }],
    ["user", { servers: SERVERS, user: "a\0b" }],
    ["schema", { servers: SERVERS, schema: "0" }],
    ["poolSize", { servers: SERVERS, poolSize: 1.5 }],
    ["pollMs", { servers: SERVERS, pollMs: 0 }],
    ["migrate", { servers: SERVERS, migrate: "yes" }],
    ["settings", { servers: SERVERS, settings: { query_timeout: "1" } }],
    ["hosts", { servers: SERVERS, hosts: [] }],
  ])("a wrong PostgreSQL option is refused by name: %s", (field, options) => {
    const refusal = (): unknown => checkOptions(options as unknown as PostgresStoreOptions);
    expect(refusal).toThrow(InvalidRequestError);
    expect(refusal).toThrow(expect.objectContaining({ field }));
  });
});
