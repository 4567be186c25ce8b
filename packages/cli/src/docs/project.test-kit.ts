/**
 * A project as a reader of the documentation has it: an empty directory with the packages from their tarballs and the programs of
 * the documentation. What the packages and programs need besides is linked from this repository, so that no network is used.
 */
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { PROGRAMS } from "./pages.test-kit.js";
import { Program } from "./program.test-kit.js";
import { manifestIn, placeOf, ROOT, unpackInto } from "./tarballs.test-kit.js";

const TENURE = ["api", "core", "client", "coordinator", "fence", "stores"];
/** Further imports of the programs, and the types that they need. */
const LIBRARIES = ["prom-client", "pg", "@types/node", "@types/pg"];

type Settings = Readonly<Record<string, unknown>>;

const COMMON: Settings = {
  strict: true,
  target: "es2022",
  lib: ["es2023", "esnext.disposable"],
  types: ["node"],
  skipLibCheck: false,
  noEmitOnError: true,
};
const SETTINGS: Readonly<Record<"nodenext" | "bundler", Settings>> = {
  nodenext: { ...COMMON, module: "nodenext", moduleResolution: "nodenext", outDir: "out" },
  bundler: { ...COMMON, module: "esnext", moduleResolution: "bundler", noEmit: true },
};

export class Project {
  readonly directory: string = mkdtempSync(join(tmpdir(), "tenure-docs-"));
  readonly #running: Program[] = [];

  static async open(): Promise<Project> {
    const project = new Project();
    const { directory } = project;
    await unpackInto(directory, TENURE);
    const needed = TENURE.flatMap((name) =>
      Object.keys(manifestIn(placeOf(directory, name)).dependencies ?? {}),
    );
    for (const name of new Set([...needed.filter((each) => !each.startsWith("@tenure/")), ...LIBRARIES])) {
      const link = join(directory, "node_modules", name);
      mkdirSync(dirname(link), { recursive: true });
      symlinkSync(join(ROOT, "node_modules", name), link, "dir");
    }
    project.write("package.json", JSON.stringify({ type: "module", private: true }));
    for (const [name, { language, code }] of PROGRAMS) {
      project.write(language === "ts" ? `${name}.ts` : `out/${name}.js`, code);
    }
    return project;
  }

  write(file: string, text: string): void {
    const path = join(this.directory, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }

  /** Resolves with the compiler's errors; empty if there are none. */
  compile(resolution: keyof typeof SETTINGS): Promise<string> {
    const settings = { compilerOptions: SETTINGS[resolution], include: ["*.ts"] };
    this.write(`tsconfig.${resolution}.json`, JSON.stringify(settings));
    const compiler = join(ROOT, "node_modules/typescript/bin/tsc");
    const args = [compiler, "--pretty", "false", "-p", `tsconfig.${resolution}.json`];
    return new Promise((resolve) => {
      execFile(process.execPath, args, { cwd: this.directory }, (error, stdout) => {
        resolve(error === null ? stdout : `${stdout}${error.message}`);
      });
    });
  }

  /** Runs a compiled program of the documentation. */
  start(name: string, environment: Readonly<Record<string, string>>, args: readonly string[] = []): Program {
    const program = new Program(join(this.directory, "out"), name, environment, args);
    this.#running.push(program);
    return program;
  }

  async endPrograms(): Promise<void> {
    await Promise.all(this.#running.splice(0).map((program) => program.kill()));
  }

  close(): void {
    rmSync(this.directory, { recursive: true, force: true });
  }
}
