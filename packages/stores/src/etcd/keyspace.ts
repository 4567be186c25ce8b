/**
 * Where our keys lie: an entry under the prefix, two slashes and its own key; the `head` where the entry's key would be
 * empty, as none is. The `head` is written along with every batch, so its revision is that of the last batch, and its
 * version counts them.
 */
export class Keyspace {
  readonly head: string;
  /** Exclusive: from `head` to here are all keys of ours and no others. */
  readonly end: string;

  constructor(prefix: string) {
    this.head = `${prefix}//`;
    // The character after the slash.
    this.end = `${prefix}/0`;
  }

  pathOf(key: string): string {
    return this.head + key;
  }

  keyOf(path: string): string {
    return path.slice(this.head.length);
  }
}
