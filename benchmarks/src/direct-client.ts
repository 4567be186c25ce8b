/** A direct client in a process of its own, as a contestant. */
import type { Child } from "./child.js";
import { type Contestant, fastestOf, type Turn, warmUp } from "./contest.js";
import type { DirectQuestion } from "./direct-child.js";
import type { DirectLoad } from "./direct/direct-load.js";

export type Client = Child<DirectQuestion, Turn>;

/** What it does, with each number of connections that is to be tried. */
export interface DirectWork extends Pick<DirectLoad, "call" | "inFlight"> {
  readonly about: string;
  readonly connections: readonly number[];
}

/** With as many connections as make it fastest; says so. */
export async function fastestClient(client: Client, work: DirectWork): Promise<Contestant> {
  const { about, call, inFlight, connections: tried } = work;
  const contestants = tried.map(
    (connections): Contestant =>
      (turnMs) =>
        client.ask({ call, inFlight, connections, turnMs }),
  );
  const [first] = contestants as [Contestant];
  await warmUp(first);
  const chosen = tried.length === 1 ? 0 : await fastestOf(contestants);
  const among = tried.length === 1 ? "" : `, the fastest of ${tried.join(", ")}`;
  console.log(`direct: ${about}, ${inFlight} in flight; connections: ${tried[chosen]}${among}`);
  return contestants[chosen] ?? first;
}
