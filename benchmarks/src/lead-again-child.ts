/** Elections of one process over one service: when each of them leads again after it has lost its leadership. */
import { Election, HttpElector } from "@tenure/client";
import { answerOwner } from "./child.js";

export type LeadAgainQuestion =
  /** Answered when all of them lead. */
  | { readonly kind: "lead"; readonly port: number; readonly count: number; readonly ttlMs: number }
  /** Answered when each of them has lost its leadership and leads again. */
  | { readonly kind: "again" }
  | { readonly kind: "stop" };

/** When each began to lead, on the monotonic clock, which processes of one machine share. */
export type LeadAgainAnswer = readonly number[];

let electors: HttpElector[] = [];
let elections: Election[] = [];

answerOwner<LeadAgainQuestion, LeadAgainAnswer>(async (question) => {
  switch (question.kind) {
    case "lead": {
      const { port, count, ttlMs } = question;
      const elector = await HttpElector.open({ endpoints: [`http://127.0.0.1:${port}`] });
      electors = [elector];
      elections = Array.from(
        { length: count },
        (_, index) => new Election(elector, { groupId: `lead-again/${index}`, nodeId: "node", ttlMs }),
      );
      await Promise.all(elections.map((election) => election.start()));
      return Promise.all(elections.map((election) => untilPromoted(election)));
    }
    case "again":
      return Promise.all(
        elections.map(async (election) => {
          await election.untilDemoted();
          return untilPromoted(election);
        }),
      );
    case "stop":
      await Promise.all(elections.map((election) => election.stop()));
      await Promise.all(electors.map((elector) => elector.close()));
      return [];
  }
});

async function untilPromoted(election: Election): Promise<number> {
  await election.untilLeader();
  return Number(process.hrtime.bigint()) / 1e6;
}
