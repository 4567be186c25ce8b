/** Started by cliffs.ts with `--expose-gc`, one for each size of each cliff: asked for a round, it answers with its figures. */
import { answerOwner } from "../child.js";
import { CLIFFS } from "../cliffs.js";
import type { Figures, MeasuredSize } from "./cliff.js";

const [name, size] = process.argv.slice(2);
const cliff = CLIFFS.find((each) => each.name === name);
if (cliff === undefined) throw new Error(`there is no cliff ${name}`);

let opened: Promise<MeasuredSize> | null = null;

answerOwner<object, Figures>(async () => {
  opened ??= cliff.open(Number(size));
  return (await opened).round();
});
