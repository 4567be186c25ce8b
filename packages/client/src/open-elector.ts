import {
  checkKeys,
  checkNumber,
  type ElectorAdmin,
  InvalidRequestError,
  isObject,
  MemoryStore,
  type Store,
  StoreElector,
} from "@tenure/core";
import { HttpElector } from "./http/http-elector.js";
import type { HttpElectorOptions } from "./http/options.js";

/** Of a Tenure service those of `HttpElector`, of a store the others; what does not fit the URL is refused. */
export interface OpenElectorOptions extends Omit<HttpElectorOptions, "endpoints"> {
  /** Make the bucket of NATS if there is none (default). */
  readonly bucketAutoCreate?: boolean | undefined;
  /** How far the rate of any clock may be off; the same for all who share the store. */
  readonly driftRatio?: number | undefined;
}

const OF_STORES: readonly (keyof OpenElectorOptions)[] = [
  "bucketAutoCreate",
  "driftRatio",
  "clock",
  "random",
];

/**
 * The elector that a URL names. Closing it closes what it opened.
 *
 * - `http://a:7420,b:7420` or `https://…`, or a list of such: the servers of one Tenure service
 * - `etcd:`, `nats:`, `postgres:`, `zookeeper:`, `embedded:`: a store of `@tenure/stores`, directly and with no service
 * - `memory:`: within this process, for tests and trials
 */
export async function openElector(
  url: string | readonly string[],
  options: OpenElectorOptions = {},
): Promise<ElectorAdmin> {
  const given: unknown = options;
  if (!isObject(given)) throw new InvalidRequestError("options", "must be an object");
  if (typeof url !== "string" || /^https?:/i.test(url)) {
    const endpoints = typeof url === "string" ? endpointsOf(url) : url;
    return HttpElector.open({ ...options, endpoints });
  }
  const [, scheme = ""] = /^([a-z]+):/i.exec(url) ?? [];
  if (scheme === "") {
    throw new InvalidRequestError("url", "must begin with http: or https:, or with the scheme of a store");
  }
  checkKeys(options, "", OF_STORES);
  const { clock, random, driftRatio } = options;
  if (driftRatio !== undefined) checkNumber(driftRatio, "driftRatio", 0, 0.2);
  const store = await openStore(scheme.toLowerCase(), storeUrl(scheme.toLowerCase(), url, options));
  return owning(
    StoreElector.open({
      store,
      keepMembers: true,
      ...(clock === undefined ? {} : { clock }),
      ...(random === undefined ? {} : { random }),
      ...(driftRatio === undefined ? {} : { driftRatio }),
    }),
    store,
  );
}

/** `http://a:7420,b:7420/path`: scheme and path count for all. Whole URLs with commas between them may be given, too. */
function endpointsOf(url: string): readonly string[] {
  const [first = "", ...rest] = url.split(",");
  if (rest.every((each) => /^https?:/i.test(each))) return [first, ...rest];
  const [, scheme = "", hosts = "", path = ""] = /^(https?:\/\/)([^/?#]*)(.*)$/i.exec(url) ?? [];
  return hosts.split(",").map((host) => scheme + host + path);
}

function storeUrl(scheme: string, url: string, { bucketAutoCreate }: OpenElectorOptions): string {
  if (bucketAutoCreate === undefined) return url;
  if (scheme !== "nats") {
    throw new InvalidRequestError(
      "bucketAutoCreate",
      `is of nats: alone, and this is ${scheme}:; leave it out`,
    );
  }
  if (typeof bucketAutoCreate !== "boolean") {
    throw new InvalidRequestError("bucketAutoCreate", "must be true or false");
  }
  return `${url}${url.includes("?") ? "&" : "?"}create=${bucketAutoCreate}`;
}

async function openStore(scheme: string, url: string): Promise<Store> {
  // Needs nothing installed besides this package.
  if (scheme === "memory" && url.length === "memory:".length) return new MemoryStore();
  const stores = await import("@tenure/stores").catch((cause: unknown) => {
    if ((cause as { code?: unknown } | null)?.code !== "ERR_MODULE_NOT_FOUND") throw cause;
    const problem = `is a store, which needs a package that is not installed: npm install @tenure/stores`;
    throw new InvalidRequestError("url", problem, { cause });
  });
  return stores.openStore(url);
}

/** The elector first: it still writes while it closes. */
function owning(elector: StoreElector, store: Store): ElectorAdmin {
  const closeElector = elector.close.bind(elector);
  const closeBoth = async (): Promise<void> => {
    await closeElector();
    await store.close();
  };
  let closed: Promise<void> | null = null;
  return Object.assign(elector, { close: () => (closed ??= closeBoth()) });
}
