/**
 * `npm run test:loaded`: `npm test` while eight processes spin and two more write to the disk of the temporary directory and wait
 * until the disk has the data, without a pause. `-- --times 3` repeats the run; other arguments are passed to `npm test`. One line
 * for each run says how it ended, how long it took and what the load has done; a failed run is not repeated.
 */
import { fork } from "node:child_process";
import { closeSync, fsyncSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { main, run, ScriptError } from "./setup.mjs";

const SPINNERS = 8;
const WRITERS = 2;
const SPIN_MS = 50;
const BLOCK = Buffer.alloc(4 * 1024 * 1024, "tenure");
const FILE_BLOCKS = 16;

const [role, directory] = process.argv.slice(2);
if (role === "spin") spin();
else if (role === "write") writeForEver(directory);
else await main(() => runAll(process.argv.slice(2)));

async function runAll(args) {
  const { times, rest } = parse(args);
  const scratch = mkdtempSync(join(tmpdir(), "tenure-load-"));
  const load = [
    ...Array.from({ length: SPINNERS }, () => ["spin"]),
    ...Array.from({ length: WRITERS }, (_, index) => ["write", join(scratch, `${index}`)]),
  ].map(start);
  try {
    console.log(
      `Load: ${SPINNERS} spinning processes on ${availableParallelism()} cores, ${WRITERS} writers to the disk.`,
    );
    for (let time = 1; time <= times; time++) {
      const code = await runOnce(`${time} of ${times}`, rest, load);
      if (code !== 0) throw new ScriptError(`Run ${time} of ${times} under load failed, see above.`, code);
    }
    return 0;
  } finally {
    for (const { child } of load) child.kill("SIGKILL");
    rmSync(scratch, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function runOnce(name, args, load) {
  for (const each of load) each.reports.length = 0;
  const startMs = performance.now();
  const code = await run(process.execPath, ["scripts/test.mjs", ...args]);
  const seconds = (performance.now() - startMs) / 1000;
  const cpuSeconds = sum(load.flatMap(({ reports }) => reports.map(({ cpuMs }) => cpuMs))) / 1000;
  const syncsMs = load
    .flatMap(({ reports }) => reports.flatMap(({ syncMs }) => syncMs ?? []))
    .toSorted((a, b) => a - b);
  const at = (part) => (syncsMs[Math.floor(part * (syncsMs.length - 1))] ?? 0).toFixed(0);
  console.log(
    `Run ${name} under load: ${code === 0 ? "passed" : `failed with exit code ${code}`} in ${seconds.toFixed(0)} s. ` +
      `The spinning processes used ${(cpuSeconds / seconds).toFixed(2)} cores; the writers waited ${syncsMs.length} times for ` +
      `the disk: p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, max ${at(1)} ms.`,
  );
  return code;
}

function start(args) {
  const child = fork(fileURLToPath(import.meta.url), args);
  const reports = [];
  child.on("message", (report) => reports.push(report));
  return { child, reports };
}

/** Ends with the process that started it, however that one ends: the channel between them is closed then. */
function spin() {
  process.once("disconnect", () => process.exit());
  let reportAtMs = performance.now();
  let lastMs = cpuMs();
  const turn = () => {
    const untilMs = performance.now() + SPIN_MS;
    while (performance.now() < untilMs);
    if (untilMs > reportAtMs) {
      report({ cpuMs: cpuMs() - lastMs });
      lastMs = cpuMs();
      reportAtMs = untilMs + 1000;
    }
    setImmediate(turn);
  };
  turn();
}

function writeForEver(file) {
  process.once("disconnect", () => process.exit());
  const descriptor = openSync(file, "w");
  process.once("exit", () => closeSync(descriptor));
  let block = 0;
  const turn = () => {
    writeSync(descriptor, BLOCK, 0, BLOCK.length, (block++ % FILE_BLOCKS) * BLOCK.length);
    const startMs = performance.now();
    fsyncSync(descriptor);
    report({ cpuMs: 0, syncMs: performance.now() - startMs });
    setImmediate(turn);
  };
  turn();
}

/** Without an error if the process that started this one has just ended. */
function report(message) {
  process.send(message, () => {});
}

function cpuMs() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

function sum(numbers) {
  return numbers.reduce((total, number) => total + number, 0);
}

function parse(args) {
  const at = args.indexOf("--times");
  if (at === -1) return { times: 1, rest: args };
  const times = Number(args[at + 1]);
  if (!Number.isSafeInteger(times) || times < 1)
    throw new ScriptError(`--times is ${args[at + 1]}, it must be a whole number from 1 on`, 2);
  return { times, rest: args.toSpliced(at, 2) };
}
