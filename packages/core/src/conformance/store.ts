/**
 * The contract of `Store` as a suite: whatever passes it runs under every elector. It imports no test runner, so a
 * store's whole test file is one call:
 *
 *     storeConformance({ test, open: (space) => EtcdStore.open({ endpoints, prefix: space }), shared: true, durable: true });
 *
 * Nothing in it waits for time to pass, so a slow network only makes it slower; what hangs is the runner's to end.
 */
import type { Store } from "../store/store.js";
import { feedLaws, sharedFeedLaws } from "./store-feed.js";
import { abortLaws, closeLaws, durableLaws, sharedLifecycleLaws } from "./store-lifecycle.js";
import { raceLaws } from "./store-races.js";
import { sharedWriteLaws, writeLaws } from "./store-writes.js";
import { lawOf, type TestFunction } from "./support.js";

export interface StoreConformanceOptions {
  readonly test: TestFunction;
  /** Opens a store on the data named `space`, which nobody has used before; the same name again is the same data. */
  readonly open: (space: string) => Promise<Store>;
  /** Removes what was kept under that name. All handles are closed by then. */
  readonly dispose?: (space: string) => Promise<void>;
  /** The same data may be open twice at a time. */
  readonly shared?: boolean;
  /** The data outlives the last handle. */
  readonly durable?: boolean;
  readonly seed?: number;
}

export function storeConformance(options: StoreConformanceOptions): void {
  const { test, open, dispose, shared = false, durable = false, seed = 1 } = options;
  const law = lawOf(test, open, dispose ?? (() => Promise.resolve()));
  writeLaws(law);
  feedLaws(law);
  abortLaws(law);
  closeLaws(law);
  raceLaws(law, seed, shared);
  if (durable) durableLaws(law);
  if (!shared) return;
  sharedWriteLaws(law);
  sharedFeedLaws(law);
  sharedLifecycleLaws(law);
}
