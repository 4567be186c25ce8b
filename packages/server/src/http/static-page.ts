/**
 * The files of the dashboard, read once: they are few and small, and never change while a server runs. `@fastify/static` derives an
 * ETag from size and time of a file; a page of another release can have both, so the ETag here is made from the content.
 */
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { extname, join } from "node:path";

export type Encoding = "br" | "gzip" | "identity";

export interface StaticFile {
  readonly type: string;
  readonly bodies: Readonly<Record<Encoding, Buffer>>;
  readonly etag: string;
}

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

export interface StaticPage {
  readonly index: StaticFile;
  /** By name. Each name changes with its content. */
  readonly assets: ReadonlyMap<string, StaticFile>;
}

/** `null` if the page was not built. */
export async function readStaticPage(directory: string): Promise<StaticPage | null> {
  try {
    const names = await readdir(join(directory, "assets"));
    const assets = names.filter((name) => Object.hasOwn(TYPES, extname(name)));
    const files = assets.map(
      async (name) => [name, await readStatic(join(directory, "assets", name))] as const,
    );
    return {
      index: await readStatic(join(directory, "index.html")),
      assets: new Map(await Promise.all(files)),
    };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}

async function readStatic(path: string): Promise<StaticFile> {
  const [identity, br, gzip] = await Promise.all(["", ".br", ".gz"].map((end) => readFile(path + end)));
  const content = identity as Buffer;
  const etag = createHash("sha256").update(content).digest("base64url").slice(0, 27);
  const bodies = { identity: content, br: br as Buffer, gzip: gzip as Buffer };
  return { type: TYPES[extname(path)] ?? "application/octet-stream", bodies, etag };
}

/** The smallest encoding that the caller accepts. `q=0` means that it does not accept an encoding. */
export function chooseEncoding(accepted: string | undefined): Encoding {
  const taken = new Set<string>();
  for (const item of accepted?.toLowerCase().split(",") ?? []) {
    const [name = "", ...parameters] = item.split(";").map((part) => part.trim());
    if (!parameters.some((each) => /^q=0(?:\.0*)?$/.test(each))) taken.add(name);
  }
  return taken.has("br") ? "br" : taken.has("gzip") ? "gzip" : "identity";
}
