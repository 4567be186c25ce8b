/**
 * Where the keys are: each is a node `ROOT/BUCKET/NAME`.
 *
 * Names are percent-encoded, because a node's name must not hold a slash, a control character, a character outside the
 * basic plane or of the private ranges, nor be "." or "..". A bucket is drawn from the key, so that no list of children
 * grows long: with 64 of them a list stays below ZooKeeper's usual limit for tools (1 MiB) up to a million keys of 60
 * characters. Our own client has no such limit.
 */
const BUCKETS = 64;
const DOTS = /^\.\.?$/;

export class Tree {
  readonly root: string;
  readonly buckets: readonly string[];

  constructor(root: string) {
    this.root = root;
    this.buckets = Array.from({ length: BUCKETS }, (_, i) => `${root}/${i.toString(16).padStart(2, "0")}`);
  }

  /** The root and the nodes above it, from the top. */
  get trunk(): string[] {
    const names = this.root.slice(1).split("/");
    return names.map((_, i) => `/${names.slice(0, i + 1).join("/")}`);
  }

  path(key: string): string {
    return `${this.buckets[bucketOf(key)]}/${encodeName(key)}`;
  }

  /** `null` for any node that is not a key of ours. */
  key(path: string): string | null {
    const nameAt = this.root.length + "/00/".length;
    if (path.length <= nameAt || !path.startsWith(`${this.root}/`)) return null;
    const key = decodeName(path.slice(nameAt));
    return key !== null && this.path(key) === path ? key : null;
  }
}

function encodeName(key: string): string {
  const name = encodeURIComponent(key);
  return DOTS.test(name) ? name.replaceAll(".", "%2E") : name;
}

function decodeName(name: string): string | null {
  try {
    return decodeURIComponent(name);
  } catch {
    return null;
  }
}

/** FNV-1a over UTF-16. It may never change: keys would be looked for where they are not. */
function bucketOf(key: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193);
  return (hash >>> 0) % BUCKETS;
}
