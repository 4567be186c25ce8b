import type { Revision } from "@tenure/core";

/**
 * Maps the latest revision of a key to the version of its node. Stores compare revisions; ZooKeeper compares versions, which begin
 * at 0 in each node. An entry stays true on every later connection, because nodes are never deleted.
 */
export class VersionBook {
  readonly #latest = new Map<string, { readonly revision: Revision; readonly version: number }>();

  learn(key: string, revision: Revision, version: number): void {
    const known = this.#latest.get(key);
    if (known === undefined || known.revision < revision) this.#latest.set(key, { revision, version });
  }

  /** Of exactly that revision. */
  versionOf(key: string, revision: Revision): number | undefined {
    const known = this.#latest.get(key);
    return known?.revision === revision ? known.version : undefined;
  }

  has(key: string): boolean {
    return this.#latest.has(key);
  }
}
