/**
 * An npm registry on this machine, for installs as a user has them, without a network: the packages of the workspace from their
 * tarballs, and every other package of `package-lock.json` as it is installed here, in the locked version.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createReadStream, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { type Manifest, packInto, ROOT, run, type Tarball } from "./tarballs.test-kit.js";

/** A version of a package: what npm reads of it, and either its tarball or the folder in which it is installed. */
interface Release {
  readonly manifest: Omit<Manifest, "exports" | "scripts">;
  readonly file: string;
}

interface LockEntry {
  readonly version?: string;
  readonly link?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
}

export class Registry {
  /** Of the tarballs, and of the projects of the tests. */
  readonly directory: string = mkdtempSync(join(tmpdir(), "tenure-registry-"));
  readonly #tarballs: Tarball[] = [];
  readonly #releases = new Map<string, Map<string, Release>>();
  readonly #server: Server = createServer((request, response) => {
    this.#answer(decodeURIComponent(request.url ?? "").slice(1), response);
  });

  static async open(): Promise<Registry> {
    const registry = new Registry();
    registry.#addInstalled();
    registry.#tarballs.push(...(await packInto(registry.directory)));
    for (const { name, file } of registry.#tarballs) {
      const manifest = JSON.parse(await run("tar", ["-xzOf", file, "package/package.json"])) as Manifest;
      registry.#add(name, { manifest, file });
    }
    registry.#server.listen(0, "127.0.0.1");
    await once(registry.#server, "listening");
    return registry;
  }

  /** Of the packages of the workspace. */
  get tarballs(): readonly Tarball[] {
    return this.#tarballs;
  }

  get url(): string {
    return `http://127.0.0.1:${String((this.#server.address() as AddressInfo).port)}/`;
  }

  /** Runs npm in a directory, with this registry only and a cache that no other run has filled with other builds. */
  async npm(directory: string, ...args: readonly string[]): Promise<string> {
    const settings = ["--registry", this.url, "--cache", join(this.directory, "cache"), "--no-audit"];
    return run("npm", [...args, ...settings, "--no-fund"], directory);
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    rmSync(this.directory, { recursive: true, force: true });
  }

  #addInstalled(): void {
    const lock = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8")) as {
      readonly packages: Readonly<Record<string, LockEntry>>;
    };
    // An overridden package is here only in the version that overrides it.
    const { overrides } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
      readonly overrides: Readonly<Record<string, string>>;
    };
    const locked = (dependencies: Readonly<Record<string, string>>) =>
      Object.fromEntries(
        Object.entries(dependencies).map(([name, range]) => [name, overrides[name] ?? range]),
      );
    // What is nested for the sake of one package comes first: the last version of a package is its newest here.
    const byDepth = Object.entries(lock.packages).toSorted(([a], [b]) => depthOf(b) - depthOf(a));
    for (const [path, entry] of byDepth) {
      const [, name] = /node_modules\/((?:@[^/]+\/)?[^/]+)$/.exec(path) ?? [];
      if (name === undefined || entry.link === true || entry.version === undefined) continue;
      // npm checks a platform before it downloads anything: packages of other platforms need no content.
      const dependencies = locked(entry.dependencies ?? {});
      this.#add(name, {
        manifest: { ...entry, name, version: entry.version, dependencies },
        file: join(ROOT, path),
      });
    }
  }

  #add(name: string, release: Release): void {
    const versions = this.#releases.get(name) ?? new Map<string, Release>();
    this.#releases.set(name, versions.set(release.manifest.version, release));
  }

  /** `NAME` is answered with the versions of a package, `NAME/-/VERSION` with a tarball. */
  #answer(path: string, response: ServerResponse): void {
    const [name = "", version] = path.split("/-/");
    const versions = this.#releases.get(name);
    if (version !== undefined) {
      sendTarball(versions?.get(version), response);
    } else if (versions === undefined) {
      response.writeHead(404).end("{}");
    } else {
      response.end(JSON.stringify(this.#packument(name, versions)));
    }
  }

  #packument(name: string, versions: ReadonlyMap<string, Release>): object {
    const entries = [...versions].map(([version, { manifest }]) => {
      return [version, { ...manifest, dist: { tarball: `${this.url}${name}/-/${version}` } }] as const;
    });
    return { name, "dist-tags": { latest: entries.at(-1)?.[0] }, versions: Object.fromEntries(entries) };
  }
}

function sendTarball(release: Release | undefined, response: ServerResponse): void {
  if (release === undefined || !existsSync(release.file)) {
    response.writeHead(404).end();
  } else if (release.file.endsWith(".tgz")) {
    createReadStream(release.file).pipe(response);
  } else {
    // npm ignores the name of the top folder. What a package has in a folder `node_modules` are packages of their own.
    const folder = basename(release.file);
    const args = ["-cf", "-", "-C", dirname(release.file), `--exclude=${folder}/node_modules`, folder];
    spawn("tar", args, { stdio: ["ignore", "pipe", "inherit"] }).stdout.pipe(response);
  }
}

function depthOf(path: string): number {
  return path.split("node_modules/").length;
}
