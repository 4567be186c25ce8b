/** Mutants of what operators ask for: an act that is answered as done and is not. */
import type { Mutant } from "../harness/mutant.js";

const operate = "core/rules/operate.ts";
const configure = "core/rules/configure.ts";
const UNCHANGED = 'return { kind: "unchanged" };';

export const ACT_MUTANTS: readonly Mutant[] = [
  {
    name: "step-down-unwritten",
    rule: "a step-down deposes the leader",
    patches: [
      {
        file: operate,
        find: "const others = now.bans.filter(",
        replace: `    ${UNCHANGED}\n    const others = now.bans.filter(`,
      },
    ],
  },
  {
    name: "pause-unwritten",
    rule: "a pause is in the record before it is answered",
    patches: [{ file: operate, find: "export function decidePause(", replace: unchanging("decidePause") }],
  },
  {
    name: "resume-unwritten",
    rule: "resuming ends a pause",
    patches: [{ file: operate, find: "if (now.pause === null) return", replace: "if (true) return" }],
  },
  {
    name: "update-unwritten",
    rule: "a change of policy is in the record before it is answered",
    patches: [
      { file: configure, find: "export function decideUpdate(", replace: unchanging("decideUpdate") },
    ],
  },
  {
    name: "create-unwritten",
    rule: "a group that was created is in the record before it is answered",
    patches: [
      { file: configure, find: "export function decideCreate(", replace: unchanging("decideCreate") },
    ],
  },
  {
    name: "delete-unwritten",
    rule: "deleting a group empties its record",
    patches: [
      {
        file: configure,
        find: "export function decideDelete(",
        replace: unchanging("decideDelete"),
      },
    ],
  },
  {
    name: "lost-names-nobody",
    rule: "a lost campaign names the leader",
    patches: [
      {
        file: "core/elector/campaigns.ts",
        find: "leader: holder === null ?",
        replace: "leader: true ?",
      },
    ],
  },
  {
    name: "resigned-to-everybody",
    rule: "only a node that gave its term up is answered that it has resigned",
    patches: [
      {
        file: "core/rules/resign.ts",
        find: "return wasIt ?",
        replace: "return ended !== null ?",
      },
    ],
  },
  {
    name: "delay-after-any-end",
    rule: "only an expired lease starts the takeover delay",
    patches: [
      {
        file: "core/rules/terms.ts",
        find: 'delayMs: reason === "expired" ? policyOf(now).takeoverDelayMs : 0,',
        replace: "delayMs: policyOf(now).takeoverDelayMs,",
      },
    ],
  },
];

/** The function, which does nothing and says that nothing was to be done. */
function unchanging(name: string): string {
  return `export function ${name}() { ${UNCHANGED} }\nfunction former${name}(`;
}
