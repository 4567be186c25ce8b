/**
 * The image of `deploy/docker`. `npm test` checks the Dockerfile and what goes into the image. `npm run chaos` builds the image with
 * buildah, on base images made of the Node of this machine, because no registry can be reached, and runs it with podman.
 */
import { execFileSync, spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { freePorts, isChaos, isMissing } from "@tenure/engines";
import { sleep, systemClock } from "@tenure/core";
import { afterAll, describe, expect, it } from "vitest";
import { Scratch } from "../scratch.test-kit.js";
import { DEPLOY, ROOT } from "./manifests.test-kit.js";

const DOCKERFILE = join(DEPLOY, "docker/Dockerfile");
const USER = "65532:65532";

interface Instruction {
  readonly name: string;
  readonly value: string;
}

function instructions(): readonly Instruction[] {
  const text = readFileSync(DOCKERFILE, "utf8")
    .replaceAll(/^#.*\n/gm, "")
    .replaceAll(/\\\n\s*/g, "");
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      const [, name = "", value = ""] = /^([A-Z]+) (.+)$/.exec(line) ?? [];
      return { name, value };
    });
}

describe("the Dockerfile", () => {
  const scratch = new Scratch();
  afterAll(() => scratch.close());

  const all = instructions();
  const values = (wanted: string) => all.filter(({ name }) => name === wanted).map(({ value }) => value);
  const last = all.slice(all.findLastIndex(({ name }) => name === "FROM"));

  it("the Dockerfile pins its base images, and copies from stages and from the repository only", () => {
    const args = new Map(values("ARG").map((value) => value.split("=") as [string, string]));
    for (const value of values("FROM")) {
      const [, variable = ""] = /^\$\{(\w+)\}(?: AS \w+)?$/.exec(value) ?? [];
      expect(args.get(variable)).toMatch(/^[\w.]+\/[\w./-]+:[\w.-]+$/);
      expect(args.get(variable)).not.toMatch(/:latest$/);
    }
    expect(values("ADD")).toEqual([]);
    expect(
      all.every(({ name }) =>
        /^(?:ARG|FROM|WORKDIR|COPY|RUN|LABEL|ENV|USER|VOLUME|EXPOSE|HEALTHCHECK|STOPSIGNAL|ENTRYPOINT|CMD)$/.test(
          name,
        ),
      ),
    ).toBe(true);
  });

  it("the image has a user without privileges, a health check of its own, and no secret or build step in its last stage", () => {
    const of = (wanted: string) => last.filter(({ name }) => name === wanted).map(({ value }) => value);
    expect(of("USER")).toEqual([USER]);
    expect(of("RUN")).toEqual([]);
    expect(of("HEALTHCHECK")[0]).toMatch(/CMD \["\/usr\/local\/bin\/node", "\/app\/health\.mjs"\]$/);
    for (const name of ["ENTRYPOINT", "CMD"]) expect(JSON.parse(of(name)[0] ?? "")).toBeInstanceOf(Array);
    expect(of("COPY").every((value) => value.startsWith("--from=build "))).toBe(true);
    expect(
      all.filter(({ name, value }) => ["ARG", "ENV"].includes(name) && /token|password|secret/i.test(value)),
    ).toEqual([]);
    const ignored = readFileSync(`${DOCKERFILE}.dockerignore`, "utf8").split("\n");
    expect(ignored.slice(1)).toEqual(
      expect.arrayContaining(["**", "**/node_modules", "**/*.pem", "**/*.key", "**/.env*"]),
    );
  });

  it("the image contains the command with the drivers of all stores, and no tool of the build", async () => {
    const { closure } = (await import(pathToFileURL(join(DEPLOY, "docker/assemble.mjs")).href)) as {
      closure: (packages: unknown) => readonly string[];
    };
    const lock = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8")) as { packages: unknown };
    const names = closure(lock.packages).map((key) => key.replace("node_modules/", ""));
    expect(names).toEqual(
      expect.arrayContaining(["tenure", "lmdb", "pg", "@nats-io/transport-node", "@grpc/grpc-js"]),
    );
    for (const tool of ["vitest", "typescript", "vite", "oxlint", "@tenure/engines"])
      expect(names).not.toContain(tool);
  });

  it("the health check of the image tells a server that answers from none", async () => {
    const [port] = await freePorts(1);
    const env = { PATH: process.env["PATH"] ?? "", TENURE_LISTEN: `0.0.0.0:${port}` };
    const health = () =>
      spawnSync(process.execPath, [join(DEPLOY, "docker/health.mjs")], { env, encoding: "utf8" });
    expect(health()).toMatchObject({ status: 1, stderr: expect.stringContaining("ECONNREFUSED") as string });
    scratch.directory();
    await scratch.serve(["--listen", `127.0.0.1:${port}`, "--store", "memory:", "--log-level", "error"]);
    expect(health()).toMatchObject({ status: 0 });
  });
});

// It takes a minute and needs root, so only npm run chaos builds it.
describe.each(isChaos && !isMissing("podman") ? ["the image"] : [])("%s", () => {
  const scratch = new Scratch();
  afterAll(() => scratch.close());

  it("the image is built from the Dockerfile, and serves an election as a user without privileges, on a read-only root, with the system calls of the systemd unit", async () => {
    const box = new Box(scratch.directory());
    try {
      box.build();
      const [port] = await freePorts(1);
      box.start(Number(port));
      while (box.status(["healthcheck", "run", "tenure"]) !== 0) await sleep(systemClock, 200);
      const answer = await fetch(`http://127.0.0.1:${port}/v1/groups/g/campaign`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ node_id: "a", lease_ttl_ms: 60_000 }),
      });
      expect(await answer.json()).toMatchObject({ is_leader: true, leader: { node_id: "a", term: 1 } });
      expect(
        box.podman(
          "exec",
          "tenure",
          "/app/bin/tenure",
          "leader",
          "g",
          "--server",
          `http://127.0.0.1:${port}`,
        ),
      ).toContain("a leads g in term 1");
      const files =
        "for (const f of require('fs').readdirSync('/app', { recursive: true })) if (/\\.(?:test(?:-kit)?\\.js|d\\.ts|map)$/.test(f)) console.log(f)";
      expect(box.podman("exec", "tenure", "/usr/local/bin/node", "-e", files)).toBe("");
      const probe =
        "const fs = require('fs'); const w = (f) => { try { fs.writeFileSync(f, ''); return 'written'; } catch (e) { return e.code; } }; console.log(process.getuid(), w('/x'), w('/app/x'), w('/data/x'), fs.existsSync('/bin/sh'))";
      expect(box.podman("exec", "tenure", "/usr/local/bin/node", "-e", probe)).toBe(
        "65532 EROFS EROFS written false\n",
      );
      expect(box.podman("stop", "--time=20", "tenure")).toBe("tenure\n");
      expect(box.podman("inspect", "--format={{.State.ExitCode}}", "tenure")).toBe("0\n");
    } finally {
      box.remove();
    }
  });
});

/** The system calls that `tenure.service` allows, as a profile for containers. */
function filterOfUnit(): object {
  const unit = readFileSync(join(DEPLOY, "systemd/tenure.service"), "utf8");
  const listed = execFileSync("systemd-analyze", ["syscall-filter", "--no-pager"], { encoding: "utf8" });
  const sets = new Map(
    listed.split(/\n(?=@)/).map((set) => {
      const [name = "", ...calls] = set.split("\n").map((line) => line.trim());
      return [name, calls.filter((call) => call !== "" && !call.startsWith("#"))] as const;
    }),
  );
  const callsOf = (name: string): readonly string[] =>
    name.startsWith("@") ? (sets.get(name) ?? []).flatMap(callsOf) : [name];
  const filters = [...unit.matchAll(/^SystemCallFilter=(~?)(.+)$/gm)].map(([, not, names = ""]) => ({
    isAllowed: not === "",
    calls: names.split(" ").flatMap(callsOf),
  }));
  const of = (isAllowed: boolean) =>
    filters.filter((each) => each.isAllowed === isAllowed).flatMap(({ calls }) => calls);
  const refused = new Set(of(false));
  const names = [...new Set([...of(true), ...callsOf("@default")])].filter((call) => !refused.has(call));
  return {
    defaultAction: "SCMP_ACT_ERRNO",
    defaultErrnoRet: 1,
    syscalls: [{ names, action: "SCMP_ACT_ALLOW" }],
  };
}

/** Images and containers in a directory of their own. */
class Box {
  readonly #directory: string;
  readonly #env: NodeJS.ProcessEnv;

  constructor(directory: string) {
    this.#directory = directory;
    const storage = join(directory, "storage.conf");
    const [run, graph] = [join(directory, "run"), join(directory, "graph")];
    writeFileSync(storage, `[storage]\ndriver = "vfs"\nrunroot = "${run}"\ngraphroot = "${graph}"\n`);
    this.#env = { ...process.env, CONTAINERS_STORAGE_CONF: storage };
  }

  build(): void {
    const base = this.#base("base", false);
    const buildBase = this.#base("build-base", true);
    // Installed and built already: the same step finds nothing to do.
    const ignore = join(this.#directory, "ignore");
    const wanted = readFileSync(`${DOCKERFILE}.dockerignore`, "utf8")
      .split("\n")
      .filter((line) => !/^\*\*\/(?:node_modules|dist|\*\.tsbuildinfo)$/.test(line));
    writeFileSync(ignore, [...wanted, "!node_modules", "node_modules/.cache", ".git"].join("\n"));
    const args = [
      "--build-arg",
      `BASE=${base}`,
      "--build-arg",
      `BUILD_BASE=${buildBase}`,
      "--ignorefile",
      ignore,
    ];
    this.#buildah(ROOT, DOCKERFILE, "localhost/tenure", ...args);
  }

  start(port: number): void {
    // As this machine allows: no cgroup of its own, and no higher limits.
    const here = [
      "--network=host",
      "--ulimit=nofile=4096:4096",
      "--ulimit=nproc=4096:4096",
      "--log-driver=k8s-file",
    ];
    const seccomp = join(this.#directory, "seccomp.json");
    writeFileSync(seccomp, JSON.stringify(filterOfUnit()));
    const options = ["no-new-privileges", `seccomp=${seccomp}`].map((option) => `--security-opt=${option}`);
    const hardened = ["--read-only", "--cap-drop=all", ...options];
    const env = ["--env", `TENURE_LISTEN=127.0.0.1:${port}`];
    this.podman(
      "run",
      "--detach",
      "--name=tenure",
      ...here,
      ...hardened,
      ...env,
      "--volume=data:/data",
      "localhost/tenure",
    );
  }

  podman(...args: readonly string[]): string {
    return execFileSync("podman", ["--runtime=runc", "--cgroup-manager=cgroupfs", ...args], {
      env: this.#env,
      encoding: "utf8",
    });
  }

  status(args: readonly string[]): number | null {
    return spawnSync("podman", ["--runtime=runc", "--cgroup-manager=cgroupfs", ...args], { env: this.#env })
      .status;
  }

  remove(): void {
    this.status(["rm", "--force", "--all"]);
    this.status(["volume", "rm", "--force", "--all"]);
    this.status(["rmi", "--force", "--all"]);
  }

  /** An image of Node's libraries; for the build also with Node, npm and a shell. */
  #base(name: string, isForBuild: boolean): string {
    const context = join(this.#directory, name);
    const root = join(context, "root");
    for (const each of ["usr/bin", "usr/lib", "usr/lib64", "usr/local/bin", "tmp", "etc"])
      mkdirSync(join(root, each), { recursive: true });
    for (const each of ["bin", "lib", "lib64"]) symlinkSync(`usr/${each}`, join(root, each));
    const packages = execFileSync("dpkg", ["--listfiles", "libc6", "libstdc++6", "libgcc-s1"], {
      encoding: "utf8",
    });
    const libraries = packages
      .split("\n")
      .filter((file) => /\.so(?:\.\d+)*$/.test(file) && !file.includes("/gconv/"));
    for (const file of libraries) this.#copy(file, join(root, file.replace(/^\/lib/, "/usr/lib")));
    if (isForBuild) {
      this.#copy(process.execPath, join(root, "usr/local/bin/node"));
      for (const program of ["sh", "env"]) this.#copy(`/bin/${program}`, join(root, "usr/bin", program));
      const npm = dirname(dirname(realpathSync(execFileSync("which", ["npm"], { encoding: "utf8" }).trim())));
      cpSync(npm, join(root, "usr/local/lib/node_modules/npm"), { recursive: true });
      symlinkSync("../lib/node_modules/npm/bin/npm-cli.js", join(root, "usr/local/bin/npm"));
    }
    writeFileSync(
      join(context, "Dockerfile"),
      "FROM scratch\nCOPY root /\nENV PATH=/usr/local/bin:/usr/bin:/bin HOME=/tmp\n",
    );
    this.#buildah(context, join(context, "Dockerfile"), `localhost/${name}`);
    return `localhost/${name}`;
  }

  #copy(file: string, target: string): void {
    if (!existsSync(file) || existsSync(target)) return;
    mkdirSync(dirname(target), { recursive: true });
    cpSync(realpathSync(file), target);
  }

  #buildah(context: string, file: string, tag: string, ...args: readonly string[]): void {
    const command = [
      "bud",
      "--quiet",
      "--format=docker",
      "--isolation=chroot",
      ...args,
      "--file",
      file,
      "--tag",
      tag,
      context,
    ];
    const { status, stdout, stderr } = spawnSync("buildah", command, { env: this.#env, encoding: "utf8" });
    if (status !== 0) throw new Error(`buildah ended with ${status}: ${stdout}${stderr}`);
  }
}
