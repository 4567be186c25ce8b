import type { CallOptions, Store, StoreLimits } from "@tenure/core";

/** An engine at an address, which is not open yet. Its name and limits are known before it answers. */
export interface StoreDriver {
  readonly name: string;
  readonly limits: StoreLimits;
  /**
   * Ends in bounded time. Rejects with `BackendUnavailableError` if another attempt may succeed (nothing listens, no
   * quorum), with `InvalidRequestError` if it fails until somebody changes the URL, the options, the credentials or the
   * server, and with the signal's reason; then nothing is left open.
   */
  open(options: CallOptions): Promise<Store>;
}
