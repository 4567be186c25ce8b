import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { delimiter, join } from "node:path";
import type { EngineName } from "./engine.js";

interface Installation {
  readonly packages: readonly string[];
  /** What must be there for the engine to run. */
  readonly files: () => readonly (string | null)[];
}

const POSTGRES_VERSIONS = "/usr/lib/postgresql";

const INSTALLATIONS: Readonly<Record<EngineName, Installation>> = {
  etcd: { packages: ["etcd-server"], files: () => [findCommand("etcd")] },
  nats: { packages: ["nats-server"], files: () => [findCommand("nats-server")] },
  // The pooler comes along: Tenure works behind one, and a test shows it.
  postgres: {
    packages: ["postgresql", "pgbouncer"],
    files: () => [postgresBinary("postgres"), postgresBinary("initdb"), findCommand("pgbouncer")],
  },
  zookeeper: {
    packages: ["zookeeper"],
    files: () => [findCommand("java"), existing("/usr/share/java/zookeeper.jar")],
  },
};

export const ENGINE_NAMES: readonly EngineName[] = Object.keys(INSTALLATIONS) as EngineName[];

/** Tests against a missing engine are skipped, or, where engines are required, fail here. */
export function isMissing(engine: EngineName): boolean {
  const isThere = INSTALLATIONS[engine].files().every((file) => file !== null);
  if (!isThere && areRequired()) throw new Error(`${engine} is not installed. ${howToInstall([engine])}`);
  return !isThere;
}

export function areRequired(): boolean {
  return process.env["TENURE_REQUIRE_ENGINES"] === "1";
}

export function howToInstall(engines: readonly EngineName[]): string {
  return `On Debian, as root: apt-get install ${packagesOf(engines).join(" ")}`;
}

/** Those that are still missing afterwards. Installs only on Debian and its kin, and only as root. */
export function installMissing(): EngineName[] {
  const missing = missingEngines();
  const mayInstall = process.getuid?.() === 0 && findCommand("apt-get") !== null;
  if (missing.length === 0 || !mayInstall) return missing;
  console.error(`Installing ${packagesOf(missing).join(" ")}.`);
  apt(["update"]);
  apt(["install", "--yes", "--no-install-recommends", ...packagesOf(missing)]);
  return missingEngines();
}

/** The directories of `PATH`, and those where Debian keeps servers. */
export function findCommand(name: string): string | null {
  const directories = [...(process.env["PATH"] ?? "").split(delimiter), "/usr/sbin", "/usr/bin"];
  return directories.map((directory) => join(directory, name)).find((file) => existsSync(file)) ?? null;
}

/** Of the newest version that is installed. */
export function postgresBinary(name: string): string | null {
  if (!existsSync(POSTGRES_VERSIONS)) return findCommand(name);
  const versions = readdirSync(POSTGRES_VERSIONS).sort((x, y) => Number(y) - Number(x));
  const files = versions.map((version) => join(POSTGRES_VERSIONS, version, "bin", name));
  return files.find((file) => existsSync(file)) ?? findCommand(name);
}

function missingEngines(): EngineName[] {
  return ENGINE_NAMES.filter((engine) => INSTALLATIONS[engine].files().includes(null));
}

function packagesOf(engines: readonly EngineName[]): string[] {
  return engines.flatMap((engine) => INSTALLATIONS[engine].packages);
}

function existing(file: string): string | null {
  return existsSync(file) ? file : null;
}

function apt(args: readonly string[]): void {
  // A failure shows in what is missing afterwards; what apt wrote says why.
  spawnSync("apt-get", ["--quiet", ...args], {
    env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
    stdio: ["ignore", "ignore", "inherit"],
  });
}
