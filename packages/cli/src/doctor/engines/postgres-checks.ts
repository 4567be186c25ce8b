/** PostgreSQL servers, by the settings that each reports. Reads only. */
import type { parsePostgresUrl, PostgresStoreOptions } from "@tenure/stores/postgres";
import { type Finding, note, ok, wrong } from "../finding.js";
import { checkCertificateFiles, tooOld, unreachable } from "./server-findings.js";

interface Settings {
  readonly version: string;
  readonly fsync: string;
  readonly full_page_writes: string;
  readonly synchronous_commit: string;
  readonly synchronous_standby_names: string;
  readonly is_standby: boolean;
  readonly standbys: number;
  readonly synchronous_standbys: number;
}

const OLDEST = "12";
const CONNECT_LIMIT_MS = 3000;
const QUERY = `SELECT current_setting('server_version') AS version, current_setting('fsync') AS fsync,
  current_setting('full_page_writes') AS full_page_writes, current_setting('synchronous_commit') AS synchronous_commit,
  current_setting('synchronous_standby_names') AS synchronous_standby_names, pg_is_in_recovery() AS is_standby,
  (SELECT count(*)::int FROM pg_stat_replication) AS standbys,
  (SELECT count(*)::int FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum')) AS synchronous_standbys`;

export async function checkPostgres(
  options: ReturnType<typeof parsePostgresUrl>,
  nowMs: number,
): Promise<Finding[]> {
  const { sslrootcert, sslcert } = options.settings ?? {};
  const files = checkCertificateFiles("PostgreSQL", [sslrootcert, sslcert], nowMs);
  const servers = await Promise.all(
    options.servers.map(async ({ host, port }) => {
      const about = `postgres ${host}:${port}`;
      try {
        return { about, settings: await readSettings(options, host, port) };
      } catch (error) {
        return { about, settings: null, error };
      }
    }),
  );
  const primaries = servers.filter(({ settings }) => settings?.is_standby === false);
  const advice = "check that it runs, can be reached from here, and accepts this user";
  const findings = servers.flatMap(({ about, settings, error }) =>
    settings === null ? [unreachable(about, error, advice)] : judgeSettings(about, settings),
  );
  if (primaries.length !== 1) {
    const says = `${primaries.length} of the ${servers.length} servers in the URL accept writes`;
    findings.push(
      wrong("postgres primary", says, "there must be exactly one: finish the failover, or fix the URL"),
    );
  }
  return [...files, ...findings];
}

async function readSettings(
  { user, password, database, settings }: PostgresStoreOptions,
  host: string,
  port: number,
): Promise<Settings> {
  const { default: pg } = await import("pg");
  // A host may be the directory of a Unix socket, which cannot be the host of a URL.
  const parameters = new URLSearchParams({ ...settings, host });
  const url = new URL(
    `postgres://localhost:${port}/${encodeURIComponent(database ?? "")}?${parameters.toString()}`,
  );
  url.username = encodeURIComponent(user ?? "");
  url.password = encodeURIComponent(password ?? "");
  const client = new pg.Client({
    connectionString: url.href,
    connectionTimeoutMillis: CONNECT_LIMIT_MS,
    query_timeout: CONNECT_LIMIT_MS,
  });
  // An error that arrives after the answer must not end the process.
  client.on("error", () => {});
  await client.connect();
  try {
    const { rows } = await client.query<Settings>(QUERY);
    return rows[0] as Settings;
  } finally {
    await client.end();
  }
}

export function judgeSettings(about: string, settings: Settings): Finding[] {
  const findings = [tooOld(about, settings.version, OLDEST) ?? ok(about, `is ${settings.version}`)];
  if (settings.fsync !== "on") {
    findings.push(
      wrong(
        about,
        "fsync is off: a crash can corrupt or lose all data",
        "set fsync = on in postgresql.conf and reload",
      ),
    );
  }
  if (settings.full_page_writes !== "on") {
    findings.push(
      wrong(
        about,
        "full_page_writes is off: a crash can tear a page",
        "set full_page_writes = on, unless the file system never tears a page",
      ),
    );
  }
  if (settings.is_standby) return findings;
  if (["off", "local"].includes(settings.synchronous_commit)) {
    findings.push(
      note(
        about,
        `synchronous_commit is ${settings.synchronous_commit}; Tenure's own writes wait for the disk anyway`,
        "other writes to this database can be lost in a crash: set synchronous_commit = on for programs that fence by the term",
      ),
    );
  }
  return [...findings, ...judgeReplication(about, settings)];
}

function judgeReplication(about: string, settings: Settings): Finding[] {
  const { standbys, synchronous_standbys: synchronous, synchronous_standby_names: names } = settings;
  if (standbys > 0 && synchronous === 0) {
    const says = `${standbys} standbys follow, none synchronously: a failover can undo terms that were granted`;
    return [wrong(about, says, "set synchronous_standby_names, for example 'ANY 1 (*)'")];
  }
  if (standbys === 0 && names !== "") {
    return [
      wrong(
        about,
        "waits for a synchronous standby, and none is connected: writes hang",
        "restart the standby",
      ),
    ];
  }
  if (standbys === 0)
    return [note(about, "has no standby: if it fails, every election stops", "add a synchronous one")];
  return [ok(about, `${synchronous} of ${standbys} standbys follow synchronously`)];
}
