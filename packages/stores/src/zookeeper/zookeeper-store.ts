import {
  type CasOp,
  type CasOutcome,
  type FeedSink,
  type Revision,
  type StoreDriver,
  type StoreFeatures,
  type StoreLimits,
  type StoreManifest,
  storeOf,
  type WriteCall,
} from "@tenure/core";
import { MAX_KEY_LENGTH, unlessAborted } from "@tenure/core/internal";
import { type StoreEngine, storeEngine } from "../store-opener.js";
import { readTlsFiles } from "../tls-files.js";
import { Ensemble } from "./ensemble.js";
import type { Mirror } from "./mirror.js";
import { type CheckedOptions, checkOptions, type ZookeeperStoreOptions } from "./options.js";
import { VersionBook } from "./version-book.js";
import { BatchWrite } from "./writes.js";

/** How long `close` waits for requests in flight before it cuts the connection. */
const MAX_CLOSE_MS = 5000;

/**
 * Larger batches or more of them in flight raise the rate no further and only wait longer. A value and its path make one
 * request, of at most 1 MiB unless `jute.maxbuffer` is raised; the server drops the connection of a longer one.
 */
const MANIFEST: StoreManifest = {
  name: "zookeeper",
  features: { shared: true, durable: true },
  limits: { batchOps: 256, batchesInFlight: 4, keyLength: MAX_KEY_LENGTH, valueBytes: 1_000_000 },
};

/**
 * The store in a ZooKeeper ensemble, 3.6 or newer. Each key is a node of its own; its revision is the node's `mzxid`.
 *
 * `open` rejects with `InvalidRequestError` naming the option, also if ZooKeeper refuses the user or is too old, and with
 * `BackendUnavailableError` if no server can be used.
 */
export const ZookeeperStore: StoreEngine<ZookeeperStoreOptions> = storeEngine((options) => {
  const checked = checkOptions(options);
  return { ...MANIFEST, open: async ({ signal }) => storeOf(await ZookeeperDriver.open(checked, signal)) };
});

/**
 * Everything goes over one session: writes, reads, and the events of the feeds. A session lives as long as its connection.
 * When the connection is lost, writes in flight are uncertain, the feeds end, and the next call opens another one.
 */
class ZookeeperDriver implements StoreDriver {
  readonly name: string = MANIFEST.name;
  readonly features: StoreFeatures = MANIFEST.features;
  readonly limits: StoreLimits = MANIFEST.limits;
  readonly #book = new VersionBook();
  readonly #ensemble: Ensemble;

  private constructor(options: CheckedOptions) {
    this.#ensemble = new Ensemble(options, this.#book);
  }

  static async open(options: CheckedOptions, signal: AbortSignal | undefined): Promise<ZookeeperDriver> {
    if (options.tls !== undefined) await readTlsFiles(options.tls);
    const driver = new ZookeeperDriver(options);
    try {
      await unlessAborted(signal, driver.#ensemble.prepare());
      return driver;
    } catch (error) {
      await driver.close(Promise.resolve());
      throw error;
    }
  }

  async write(batch: readonly CasOp[], call: WriteCall): Promise<CasOutcome[]> {
    return new BatchWrite(await this.#ensemble.connection(), batch, call).run(this.#book);
  }

  async head(): Promise<Revision> {
    return (await this.#ensemble.connection()).barrier();
  }

  /** The snapshot comes after a barrier, so it contains everything acknowledged before. */
  async follow(sink: FeedSink, signal: AbortSignal): Promise<void> {
    const { mirror, revision } = await unlessAborted(signal, this.#barrier());
    await unlessAborted(signal, mirror.reached(revision));
    mirror.join(sink, signal);
  }

  async #barrier(): Promise<{ readonly mirror: Mirror; readonly revision: Revision }> {
    const connection = await this.#ensemble.connection();
    // The mirror first: it follows from the first time that it is asked for.
    const { mirror } = connection;
    return { mirror, revision: await connection.barrier() };
  }

  async close(idle: Promise<void>): Promise<void> {
    this.#ensemble.stop();
    const tooLong = setTimeout(() => this.#ensemble.present?.session.destroy(), MAX_CLOSE_MS);
    await idle;
    clearTimeout(tooLong);
    await this.#ensemble.close();
  }
}
