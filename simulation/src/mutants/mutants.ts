import { ACT_MUTANTS } from "./act-mutants.js";
import { ANSWER_MUTANTS } from "./answer-mutants.js";
import { ELECTION_MUTANTS } from "./election-mutants.js";
import { FOUND_MUTANTS } from "./found-mutants.js";
import { HTTP_MUTANTS } from "./http-mutants.js";
import type { Mutant } from "../harness/mutant.js";
import { QUEUE_MUTANTS } from "./queue-mutants.js";
import { RECORD_MUTANTS } from "./record-mutants.js";
import { TIME_MUTANTS } from "./time-mutants.js";
import { WORLD_MUTANTS } from "./world-mutants.js";

export const MUTANTS: readonly Mutant[] = [
  ...TIME_MUTANTS,
  ...ANSWER_MUTANTS,
  ...RECORD_MUTANTS,
  ...ACT_MUTANTS,
  ...QUEUE_MUTANTS,
  ...FOUND_MUTANTS,
  ...ELECTION_MUTANTS,
  ...HTTP_MUTANTS,
  ...WORLD_MUTANTS,
];
