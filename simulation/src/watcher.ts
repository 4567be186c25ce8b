import { sleep, type WatchEvent, type WatchManyItem, type WatchOptions } from "@tenure/core";
import type { ServiceElector } from "@tenure/core/internal";
import type { Random } from "@tenure/core/testing";
import type { Environment } from "./environment.js";
import { isExpected } from "./environment.js";
import { CallLost } from "./network.js";

/** Watches one group, or all. */
export interface Watcher {
  readonly name: string;
  /** Where to begin; without one, at the current state. */
  readonly cursor: number | undefined;
  readonly open: (elector: ServiceElector, options: WatchOptions) => AsyncIterable<WatchEvent>;
  readonly onEvent: (event: WatchEvent, cursor: number | undefined) => void;
}

export function groupWatcher(
  environment: Environment,
  name: string,
  groupId: string,
  random: Random,
): Watcher {
  // Half of them want the history from the beginning; half of them watch as one of many groups in a stream.
  const cursor = random.chance(0.5) ? 0 : undefined;
  const isOneOfMany = random.chance(0.5);
  return {
    name,
    cursor,
    open: (elector, options) =>
      isOneOfMany
        ? flat(elector.watchMany([{ groupId, cursor: options.cursor }], options))
        : elector.watch(groupId, options),
    onEvent: (event, cursor) => environment.checks.onWatched({ watcher: name, groupId, cursor, event }),
  };
}

export function allWatcher(environment: Environment, name: string): Watcher {
  return {
    name,
    cursor: undefined,
    open: (elector, options) => elector.watchAll(options),
    onEvent: (event, cursor) => environment.checks.onWatchedAll({ watcher: name, cursor, event }),
  };
}

async function* flat(lists: AsyncIterable<readonly WatchManyItem[]>): AsyncGenerator<WatchEvent> {
  for await (const items of lists) {
    for (const item of items) {
      if ("error" in item) throw item.error;
      yield item;
    }
  }
}

/** Loses its connection at times, and continues from its cursor at any server. */
export async function watchForEver(
  environment: Environment,
  watcher: Watcher,
  random: Random,
): Promise<never> {
  const { time, servers, checks, counts } = environment;
  let { cursor } = watcher;
  for (;;) {
    await sleep(time, random.between(1, 200));
    const { process } = random.pick(servers);
    if (process === null || !process.clock.isRunning) continue;
    const connection = new AbortController();
    const lost = new Promise<"lost">((resolve) => process.onCrash(() => resolve("lost")));
    time.after(random.between(200, 6000), () =>
      process.clock.pass(() => connection.abort(new CallLost("hung up"))),
    );
    try {
      const watch = watcher.open(process.elector, { cursor, signal: connection.signal });
      const events = watch[Symbol.asyncIterator]();
      for (;;) {
        const next: IteratorResult<WatchEvent> | "lost" = await Promise.race([events.next(), lost]);
        if (next === "lost") break;
        if (next.done === true) throw new Error("a watch ended without a reason");
        counts.events++;
        if (next.value.type === "RESYNC") counts.resyncs++;
        watcher.onEvent(next.value, cursor);
        cursor = next.value.cursor;
      }
    } catch (error) {
      if (!isExpected(environment, error)) checks.unexpected(error);
    }
  }
}
