import { sleep, type WatchEvent } from "@tenure/core";
import type { Random } from "@tenure/core/testing";
import type { Environment } from "./environment.js";
import { isExpected } from "./environment.js";
import { CallLost } from "./network.js";

/** Watches one group, loses its connection now and then, and goes on from its cursor at any server. */
export async function watchForEver(
  environment: Environment,
  name: string,
  groupId: string,
  random: Random,
): Promise<never> {
  const { time, servers, checks, counts } = environment;
  // Half of them want the history from the beginning.
  let cursor: number | undefined = random.chance(0.5) ? 0 : undefined;
  for (;;) {
    await sleep(time, random.between(1, 200));
    const { process } = random.pick(servers);
    if (process === null || !process.clock.isRunning) continue;
    const connection = new AbortController();
    const lost = new Promise<"lost">((resolve) => process.onCrash(() => resolve("lost")));
    time.after(random.between(200, 6000), () =>
      process.clock.pass(() => connection.abort(new CallLost("hung up"))),
    );
    const watch = process.elector.watch(groupId, { cursor, signal: connection.signal });
    const events = watch[Symbol.asyncIterator]();
    try {
      for (;;) {
        const next: IteratorResult<WatchEvent> | "lost" = await Promise.race([events.next(), lost]);
        if (next === "lost") break;
        if (next.done === true) throw new Error("a watch ended without a reason");
        counts.events++;
        if (next.value.type === "RESYNC") counts.resyncs++;
        checks.onWatched({ watcher: name, groupId, cursor, event: next.value });
        cursor = next.value.cursor;
      }
    } catch (error) {
      if (!isExpected(environment, error)) checks.unexpected(error);
    }
  }
}
