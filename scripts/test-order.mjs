/**
 * The order of the test files: one that computes, then two that mostly wait for processes, engines and leases, so that the processor
 * is busy from the start to the end. Packages whose tests take long come first: a long test that begins last is waited for alone.
 */
import { relative } from "node:path";
import { BaseSequencer } from "vitest/node";
import { root } from "./setup.mjs";

const COMPUTES = /^(simulation|scripts)\//;
const TAKES_LONG = /^(examples|packages\/(cli|dashboard|stores))\//;
const WAITING_FOR_EACH = 2;

export default class TestOrder extends BaseSequencer {
  async sort(files) {
    return inOrder(await super.sort(files), ({ moduleId }) => relative(root, moduleId));
  }
}

/** `pathOf`: where a file is in the repository. */
export function inOrder(files, pathOf) {
  const [computing, waiting, short] = [[], [], []];
  for (const file of files) {
    const path = pathOf(file);
    (COMPUTES.test(path) ? computing : TAKES_LONG.test(path) ? waiting : short).push(file);
  }
  const mixed = [];
  while (computing.length > 0) mixed.push(computing.shift(), ...waiting.splice(0, WAITING_FOR_EACH));
  return [...mixed, ...waiting, ...short];
}
