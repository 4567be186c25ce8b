import { InvalidRequestError, MemoryStore, type Store } from "@tenure/core";

/** What follows the colon is the engine's own. Each is loaded when it is asked for, and not before. */
const ENGINES: Readonly<Record<string, (rest: string, url: string) => Promise<Store>>> = {
  memory: openMemory,
  embedded: openEmbedded,
};

/** Opens the store that a URL names: `memory:` or `embedded:DIR`. */
export async function openStore(url: string): Promise<Store> {
  const match = /^([a-z][a-z0-9+.-]*):(.*)$/is.exec(url);
  const [scheme = "", rest = ""] = match?.slice(1) ?? [];
  const open = Object.hasOwn(ENGINES, scheme.toLowerCase()) ? ENGINES[scheme.toLowerCase()] : undefined;
  if (open === undefined) {
    const known = Object.keys(ENGINES).map((each) => `${each}:`);
    throw new InvalidRequestError(
      "store",
      `must begin with ${known.join(" or ")}, not ${JSON.stringify(url)}`,
    );
  }
  return open(rest, url);
}

function openMemory(rest: string): Promise<Store> {
  if (rest !== "") throw new InvalidRequestError("store", "must be memory: with nothing after it");
  return Promise.resolve(new MemoryStore());
}

async function openEmbedded(rest: string): Promise<Store> {
  // embedded:DIR, and what people write who are used to two slashes.
  const directory = rest.replace(/^\/\/(?=\/|\.)/, "");
  if (directory === "") throw new InvalidRequestError("store", "must name a directory: embedded:DIR");
  const { EmbeddedStore } = await import("./embedded/index.js");
  return EmbeddedStore.open({ directory });
}
