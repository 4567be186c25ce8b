/**
 * What every script needs first: the right version of Node, the dependencies of package-lock.json, a build. It uses only
 * Node itself, because it runs before anything is installed. If everything is up to date it takes milliseconds.
 */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { constants } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = dirname(dirname(fileURLToPath(import.meta.url)));

const OLDEST_NODE = "20.19.0";
const STAMP = "node_modules/.tenure-platform";
const PAGE = "packages/dashboard";
/** In what it speaks of: a removed page does not count as built. */
const PAGE_STAMP = `${PAGE}/dist/page/.stamp`;

/** A failure that one sentence explains; scripts print it and end with `exitCode`. */
export class ScriptError extends Error {
  constructor(message, exitCode = 1, options) {
    super(message, options);
    this.exitCode = exitCode;
  }
}

/** Runs a script's body, and turns what it throws or returns into the exit code. */
export async function main(body) {
  try {
    process.exitCode = (await body()) ?? 0;
  } catch (error) {
    process.exitCode = error instanceof ScriptError ? error.exitCode : 1;
    console.error(error instanceof ScriptError ? error.message : error);
  }
}

export async function setUp() {
  checkNode(process.versions.node);
  await ensureInstalled();
  await build();
}

export function checkNode(version) {
  const [major, minor] = version.split(".").map(Number);
  const [oldestMajor, oldestMinor] = OLDEST_NODE.split(".").map(Number);
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return;
  throw new ScriptError(`Tenure needs Node ${OLDEST_NODE} or newer; this is Node ${version}.`, 2);
}

export async function ensureInstalled() {
  const why = whyInstall(root);
  if (why !== null) {
    console.error(`Installing dependencies: ${why}.`);
    // Development dependencies come along whatever NODE_ENV says: building and testing need them.
    const code = await runNpm(["ci", "--include=dev", "--no-audit", "--no-fund"]);
    if (code !== 0) throw new ScriptError("The dependencies could not be installed, see above.", code);
  }
  if (readText(join(root, STAMP)) !== platform()) writeFileSync(join(root, STAMP), platform());
}

/**
 * `null` when node_modules holds what package-lock.json asks for. npm keeps its own account of what it has installed
 * in node_modules/.package-lock.json, written last; so an install that broke off is seen, and one made by hand counts.
 */
export function whyInstall(directory) {
  const wanted = readLock(join(directory, "package-lock.json"));
  if (wanted === null) throw new ScriptError("package-lock.json is missing or not JSON.");
  const installed = readLock(join(directory, "node_modules/.package-lock.json"));
  if (installed === null) return "there are none yet";
  const stamp = readText(join(directory, STAMP));
  if (stamp !== null && stamp !== platform())
    return `they were installed for ${stamp}, this is ${platform()}`;
  for (const [path, entry] of Object.entries(wanted)) {
    if (!path.includes("node_modules/")) continue;
    const present = installed[path];
    // npm leaves out optional packages of other platforms.
    if (present === undefined && entry.optional === true) continue;
    if (present === undefined) return `${path} is missing`;
    if (present.version !== entry.version || present.integrity !== entry.integrity)
      return `${path} is out of date`;
    if (!existsSync(join(directory, path, "package.json"))) return `${path} is missing`;
  }
  return null;
}

/** Types and code first, then the dashboard's page, if what it is made of has changed. */
export async function build() {
  const code = await runTool("typescript", ["-b"]);
  if (code !== 0) throw new ScriptError("The build failed (tsc -b), see above.", code);
  await buildPage();
}

async function buildPage() {
  const stamp = join(root, PAGE_STAMP);
  const made = pageSources(root);
  if (readText(stamp) === made) return;
  const code = await runTool("vite", ["build", "--logLevel", "warn", PAGE]);
  if (code !== 0) throw new ScriptError("The dashboard could not be built (vite build), see above.", code);
  writeFileSync(stamp, made);
}

/** A digest of everything that the page is made of: its sources, and the versions of what is bundled. */
export function pageSources(directory) {
  const digest = createHash("sha256").update(readText(join(directory, "package-lock.json")) ?? "");
  const sources = readdirSync(join(directory, PAGE, "src"), { recursive: true }).map((file) => `src/${file}`);
  for (const file of ["index.html", "vite.config.mjs", ...sources.toSorted()]) {
    if (/\.test(?:-kit)?\.ts$/.test(file) || !/\.\w+$/.test(file)) continue;
    digest.update(`\0${file}\0`).update(readFileSync(join(directory, PAGE, file)));
  }
  return digest.digest("hex");
}

/** Runs the command of an installed package. By its file, so that no shell stands between us and its signals. */
export function runTool(name, args, options = {}) {
  const directory = join(root, "node_modules", name);
  const { bin } = JSON.parse(readFileSync(join(directory, "package.json"), "utf8"));
  const file = typeof bin === "string" ? bin : Object.values(bin)[0];
  return run(process.execPath, [join(directory, file), ...args], options);
}

/**
 * Runs a command in the root directory with our standard streams; resolves to its exit code, 128 + n after signal n.
 * Signals sent to us are passed on. Ctrl-C in a terminal reaches the whole group by itself and is not doubled.
 */
export function run(command, args, { env = {}, shell = false } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd: root,
      stdio: "inherit",
      env: { ...process.env, ...env },
      shell,
    });
    const forward = (signal) => {
      if (signal !== "SIGINT" || !process.stdin.isTTY) child.kill(signal);
    };
    const signals = ["SIGINT", "SIGTERM", "SIGHUP"];
    for (const signal of signals) process.on(signal, forward);
    const settle = (deed) => {
      for (const signal of signals) process.off(signal, forward);
      deed();
    };
    child.once("error", (cause) =>
      settle(() =>
        reject(new ScriptError(`${command} could not be started: ${cause.message}`, 1, { cause })),
      ),
    );
    child.once("close", (code, signal) => settle(() => resolve(code ?? 128 + constants.signals[signal])));
  });
}

/** The npm that runs us, or else the one on the path. */
function runNpm(args) {
  const cli = process.env.npm_execpath;
  if (cli !== undefined && /npm-cli\.c?js$/.test(cli)) return run(process.execPath, [cli, ...args]);
  return run("npm", args, { shell: process.platform === "win32" });
}

/** Prebuilt parts fit one platform. They use Node-API, so that every version of Node loads them. */
function platform() {
  return `${process.platform}-${process.arch}`;
}

function readLock(path) {
  try {
    return JSON.parse(readText(path) ?? "null")?.packages ?? null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

function readText(path) {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (error.code === "ENOENT") return null;
    throw error;
  }
}
