import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BackendUnavailableError, InvalidRequestError } from "@tenure/core";
import {
  boundMs,
  freePorts,
  giveToPostgres,
  isMissing,
  type PostgresEngine,
  startPostgres,
} from "@tenure/engines";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openStore } from "../open-store.js";
import { sql, swap } from "./postgres.test-kit.js";

/** Five seconds, with room for a busy machine. */
const BOUND_MS = 12_000;
const PASSWORD = "p@ss/word:é";

async function failure(url: string): Promise<Error> {
  const begun = performance.now();
  const error: unknown = await openStore(url).then(
    (store) => store.close(),
    (reason: unknown) => reason,
  );
  expect(performance.now() - begun).toBeLessThan(boundMs(BOUND_MS));
  expect(error).toBeInstanceOf(Error);
  return error as Error;
}

describe.skipIf(isMissing("postgres"))("the connection of a PostgresStore", () => {
  let engine: PostgresEngine;
  let server = "";
  let directory = "";
  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), "tenure-tls-"));
    chmodSync(directory, 0o755);
    const [key, certificate] = [join(directory, "key.pem"), join(directory, "certificate.pem")];
    const how = [
      "req",
      "-x509",
      "-newkey",
      "ec",
      "-pkeyopt",
      "ec_paramgen_curve:P-256",
      "-nodes",
      "-days",
      "1",
    ];
    const whose = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"];
    execFileSync("openssl", [...how, ...whose, "-keyout", key, "-out", certificate], { stdio: "ignore" });
    chmodSync(key, 0o600);
    for (const path of [directory, key]) giveToPostgres(path);
    engine = await startPostgres({
      settings: {
        ssl: "on",
        ssl_key_file: key,
        ssl_cert_file: certificate,
        unix_socket_directories: directory,
      },
      access: ["local all all trust", "hostssl all guarded all scram-sha-256", "host all guarded all reject"],
    });
    server = `localhost:${engine.ports[0]}`;
    await sql(engine.url, `CREATE ROLE guarded LOGIN SUPERUSER PASSWORD '${PASSWORD}'`);
  });
  afterAll(async () => {
    await engine?.stop();
    rmSync(directory, { recursive: true, force: true });
  });
  const guarded = (password: string, parameters: string): string =>
    `postgres://guarded:${encodeURIComponent(password)}@${server}/postgres?${parameters}`;
  const verified = (): string =>
    `sslmode=verify-full&sslrootcert=${encodeURIComponent(join(directory, "certificate.pem"))}`;

  test("PostgreSQL can be reached by password, over verified TLS", async () => {
    const store = await openStore(guarded(PASSWORD, `schema=tls&${verified()}`));
    await swap(store, "r/a", null, "1");
    const rows = await sql(
      engine.url,
      "SELECT DISTINCT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE usename = 'guarded'",
    );
    expect(rows).toEqual([{ ssl: true }]);
    await store.close();
  });

  test("a wrong password, an unknown database or missing TLS is refused, and no error contains the password", async () => {
    const refused = [
      guarded(`not ${PASSWORD}`, verified()),
      guarded(PASSWORD, "sslmode=disable"),
      `postgres://postgres@${server}/nowhere`,
    ];
    for (const url of refused) {
      const error = await failure(url);
      expect(error).toBeInstanceOf(InvalidRequestError);
      expect(`${error.message} ${String(error.stack)}`).not.toContain(PASSWORD);
    }
  });

  test("a server without a valid certificate, or an unreadable certificate file, is refused", async () => {
    const unknown = await failure(guarded(PASSWORD, "sslmode=verify-full"));
    expect(unknown).toBeInstanceOf(BackendUnavailableError);
    expect(unknown.message).toMatch(/certificate/);
    const unread = await failure(guarded(PASSWORD, `sslmode=verify-full&sslrootcert=${directory}/none.pem`));
    expect(unread).toBeInstanceOf(InvalidRequestError);
    expect(unread.message).toMatch(/TLS settings .* cannot be read \(ENOENT\)/);
  });

  test("PostgreSQL can be reached by a Unix socket", async () => {
    const store = await openStore(
      `postgres://postgres@${encodeURIComponent(directory)}:${engine.ports[0]}/postgres?schema=local`,
    );
    await swap(store, "r/a", null, "1");
    await store.close();
  });

  test("a server that is absent or does not answer is abandoned in time, and the next one is used", async () => {
    const [nobody] = (await freePorts(1)) as [number];
    const silent: Server = createServer(() => {}).listen(0, "127.0.0.1");
    await once(silent, "listening");
    const { port } = silent.address() as { readonly port: number };
    const absent = [`127.0.0.1:${nobody}`, `127.0.0.1:${port}`];
    const error = await failure(
      `postgres://postgres:${encodeURIComponent(PASSWORD)}@${absent.join(",")}/postgres`,
    );
    expect(error).toBeInstanceOf(BackendUnavailableError);
    for (const each of absent) expect(error.message).toContain(each);
    expect(error.message).not.toContain(PASSWORD);
    const store = await openStore(
      `postgres://postgres@${[...absent, server].join(",")}/postgres?schema=third`,
    );
    await swap(store, "r/a", null, "1");
    await store.close();
    silent.close();
  });
});
