import type { CallOptions, Store, StoreManifest } from "@tenure/core";

/** An engine at an address that is not open yet. Its manifest is known before the engine answers. */
export interface StoreOpener extends StoreManifest {
  /**
   * Ends in bounded time. Rejects with `BackendUnavailableError` if another attempt may succeed (nothing listens, no
   * quorum), with `InvalidRequestError` if every attempt fails until the URL, the options, the credentials or the server
   * change, and with the signal's reason. After a rejection nothing is left open.
   */
  open(options: CallOptions): Promise<Store>;
}

/** The stores of one engine. */
export interface StoreEngine<Options> {
  /** Throws `InvalidRequestError` if the options are wrong. */
  opener(options: Options): StoreOpener;
  /** Rejects as `StoreOpener.open` does, and with `InvalidRequestError` if the options are wrong. */
  open(options: Options, call?: CallOptions): Promise<Store>;
}

export function storeEngine<Options>(opener: (options: Options) => StoreOpener): StoreEngine<Options> {
  return { opener, open: async (options, call = {}) => opener(options).open(call) };
}
