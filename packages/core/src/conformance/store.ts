/**
 * The contract of `Store` as a suite: a store that passes it runs under every elector. It imports no test runner, so a
 * store's whole test file is one call:
 *
 *     storeConformance({ test, open: (space) => EtcdStore.open({ endpoints, prefix: space }) });
 *
 * The suite reads `features` and `limits` from the store. A law about a feature that the store does not state checks
 * instead that the store does not have it.
 *
 * Nothing in the suite waits for time to pass: a slow network only makes it slower, and the runner ends what hangs.
 */
import type { Store } from "../store/store.js";
import { feedLaws, sharedFeedLaws } from "./store-feed.js";
import { abortLaws, closeLaws, durableLaws, sharedLifecycleLaws } from "./store-lifecycle.js";
import { raceLaws } from "./store-races.js";
import { sharedWriteLaws, writeLaws } from "./store-writes.js";
import { lawIf, lawOf, type TestFunction } from "./support.js";

export interface StoreConformanceOptions {
  readonly test: TestFunction;
  /**
   * Opens a store on the data named `space`, which was never used before. The same name again is the same data, or fresh
   * data if the store states neither `shared` nor `durable`.
   */
  readonly open: (space: string) => Promise<Store>;
  /** Removes the data named `space`. All handles are closed by then. */
  readonly dispose?: (space: string) => Promise<void>;
  readonly seed?: number;
}

export function storeConformance({ test, open, dispose, seed = 1 }: StoreConformanceOptions): void {
  const law = lawOf(test, open, dispose ?? (() => Promise.resolve()));
  writeLaws(law);
  feedLaws(law);
  abortLaws(law);
  closeLaws(law);
  raceLaws(law, seed);
  durableLaws(lawIf(law, "durable"));
  const sharedLaw = lawIf(law, "shared");
  sharedWriteLaws(sharedLaw);
  sharedFeedLaws(sharedLaw);
  sharedLifecycleLaws(sharedLaw);
}
