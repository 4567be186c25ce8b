import type { Revision } from "@tenure/core";

/**
 * Which version of its node a key's revision is. The port compares revisions, and ZooKeeper versions, which begin anew
 * with each node. That a revision had a version is true for ever, on whatever connection it was learned: nodes are never
 * deleted.
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
