import type { Finished } from "../frame/command.test-kit.js";
import { jsonOf } from "../frame/command.test-kit.js";
import type { Finding } from "./finding.js";

export interface Examined {
  readonly code: number;
  /** The problems and warnings, except for those about the speed of this machine. */
  readonly wrong: readonly string[];
  /** How slow it was found to be, if it was. */
  readonly slow: readonly string[];
  readonly all: string;
}

/** These depend on the machine and its load; `judgements.test.ts` tests their judgement. */
const SPEED = /^(?:store round trip: a durable write takes|disk of etcd)/;

export function examinedBy(finished: Finished): Examined {
  const { findings, ok } = jsonOf<{ ok: boolean; findings: readonly Finding[] }>(finished);
  const told = ({ about, says }: Finding): string => `${about}: ${says}`;
  const wrong = findings.filter(({ level }) => level === "wrong" || level === "warning").map(told);
  if (ok !== (wrong.length === 0) || finished.code !== (ok ? 0 : 1)) {
    throw new Error(`it says ok ${ok} and ends with ${finished.code}, with ${wrong.length} wrong`);
  }
  return {
    code: finished.code,
    wrong: wrong.filter((each) => !SPEED.test(each)),
    slow: wrong.filter((each) => SPEED.test(each)),
    all: findings.map(told).join("\n"),
  };
}
