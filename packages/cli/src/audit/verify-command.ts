/** `tenure audit verify FILE…`: checks the hash chain of audit files, without a server. */
import { createReadStream } from "node:fs";
import { InvalidRequestError } from "@tenure/core";
import type { ChainReport, ChainVerifier } from "@tenure/server/audit-chain";
import { type Command, Option } from "commander";
import { newCommand, withExamples } from "../frame/elector-command.js";
import { EXIT, type OutputFlags, type Shell } from "../frame/shell.js";

interface VerifyFlags extends OutputFlags {
  readonly head?: string;
}

const LINE_FEED = 0x0a;
const HASH = /^[0-9a-f]{64}$/;

export function auditVerifyCommand(shell: Shell): Command {
  const command = newCommand(shell, "verify", "Check the hash chain of audit files, oldest file first")
    .argument("<file...>", "audit files, in the order in which they were written")
    .addOption(new Option("--head <hash>", "a hash that was kept elsewhere; one of the lines must have it"))
    .addOption(new Option("--json", "print JSON"))
    .action(async (files: readonly string[], flags: VerifyFlags) => {
      shell.isJson = flags.json === true;
      shell.exitCode = await verify(shell, files, flags.head);
    });
  return withExamples(
    command,
    "tenure audit verify audit.log",
    "tenure audit verify audit.log.2 audit.log.1 audit.log --head 9f86d081…",
  );
}

async function verify(shell: Shell, files: readonly string[], head: string | undefined): Promise<number> {
  if (head !== undefined && !HASH.test(head))
    throw new InvalidRequestError(
      "--head",
      `is "${head}" and must be the 64 hexadecimal digits of a line's hash`,
    );
  const { ChainVerifier: Verifier } = await import("@tenure/server/audit-chain");
  const verifier = new Verifier(head ?? null);
  for (const file of files) await addFile(verifier, file);
  const report = verifier.report();
  const { problem } = report;
  const lines = [...noteLines(report), problem === null ? okLine(report) : brokenLine(report, problem)];
  shell.say(shapeOf(report), ...lines);
  return problem === null ? EXIT.done : EXIT.failed;
}

/** Line by line as bytes: a line that was cut off may end within a character. */
async function addFile(verifier: ChainVerifier, file: string): Promise<void> {
  let number = 0;
  let rest: Buffer = Buffer.alloc(0);
  try {
    for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) {
      const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
      let start = 0;
      for (let end = bytes.indexOf(LINE_FEED); end !== -1; end = bytes.indexOf(LINE_FEED, start)) {
        verifier.add(file, ++number, bytes.subarray(start, end), true);
        start = end + 1;
      }
      rest = bytes.subarray(start);
      if (verifier.isBroken) return;
    }
  } catch (cause) {
    throw new InvalidRequestError(file, `cannot be read: ${(cause as Error).message}`, { cause });
  }
  if (rest.length > 0) verifier.add(file, ++number, rest, false);
}

function noteLines({ firstSeq, recordedTornLines }: ChainReport): string[] {
  const notes = recordedTornLines.map(
    ({ file, line }) =>
      `note: ${file}:${line}: a crash cut this line off; the server recorded that when it started`,
  );
  if (firstSeq !== null && firstSeq > 1)
    notes.push(`note: the first line has seq ${firstSeq}: earlier lines are in files that were not given`);
  return notes;
}

function okLine({ lines, firstSeq, head }: ChainReport): string {
  if (head === null) return "ok: there are no lines";
  return `ok: ${lines} ${lines === 1 ? "line is" : "lines are"} intact (seq ${firstSeq} to ${head.seq}), head ${head.hash}`;
}

function brokenLine(
  { head }: ChainReport,
  { file, line, message }: NonNullable<ChainReport["problem"]>,
): string {
  const place = line === null ? file : `${file}:${line}`;
  const before = head === null ? "no line before it is intact" : `intact up to seq ${head.seq}`;
  return `broken: ${place}: ${message} (${before})`;
}

function shapeOf({ lines, firstSeq, head, recordedTornLines, problem }: ChainReport): object {
  return {
    ok: problem === null,
    lines,
    first_seq: firstSeq,
    last_seq: head?.seq ?? null,
    head: head?.hash ?? null,
    recorded_torn_lines: recordedTornLines,
    problem,
  };
}
