/** A directory that was empty, in which npm has installed packages, and programs that use what is installed there. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Registry } from "./registry.test-kit.js";
import { type Manifest, manifestIn, ROOT, run as execute } from "./tarballs.test-kit.js";

const SETTINGS = {
  strict: true,
  target: "es2022",
  lib: ["es2023", "esnext.disposable"],
  module: "nodenext",
  types: ["node"],
  skipLibCheck: false,
  declaration: true,
  outDir: "out",
};

export class InstalledProject {
  readonly directory: string;
  readonly #registry: Registry;

  private constructor(registry: Registry, name: string) {
    this.#registry = registry;
    this.directory = join(registry.directory, name);
  }

  static async install(
    registry: Registry,
    name: string,
    packages: readonly string[],
  ): Promise<InstalledProject> {
    const project = new InstalledProject(registry, name);
    mkdirSync(project.directory);
    project.write("package.json", JSON.stringify({ type: "module", private: true }));
    await project.npm("install", ...packages);
    return project;
  }

  npm(...args: readonly string[]): Promise<string> {
    return this.#registry.npm(this.directory, ...args);
  }

  write(file: string, text: string): void {
    writeFileSync(join(this.directory, file), text);
  }

  read(file: string): string {
    return readFileSync(join(this.directory, file), "utf8");
  }

  /** Names of the installed packages. */
  packages(): readonly string[] {
    const folder = join(this.directory, "node_modules");
    return readdirSync(folder)
      .filter((name) => !name.startsWith("."))
      .flatMap((name) =>
        name.startsWith("@") ? readdirSync(join(folder, name)).map((each) => `${name}/${each}`) : [name],
      )
      .toSorted();
  }

  files(): readonly string[] {
    return readdirSync(join(this.directory, "node_modules"), { recursive: true }) as string[];
  }

  manifest(name: string): Manifest {
    return manifestIn(join(this.directory, "node_modules", name));
  }

  /** Runs JavaScript; resolves to what it printed. */
  async run(code: string, ...args: readonly string[]): Promise<string> {
    this.write("program.js", code);
    return (await execute(process.execPath, ["program.js", ...args], this.directory)).trim();
  }

  /** Compiles strict TypeScript; resolves to the errors of the compiler, empty if there are none. */
  async compileErrors(code: string): Promise<string> {
    this.write("program.ts", code);
    this.write("tsconfig.json", JSON.stringify({ compilerOptions: SETTINGS, include: ["program.ts"] }));
    const compiler = join(ROOT, "node_modules/typescript/bin/tsc");
    return execute(process.execPath, [compiler, "--pretty", "false"], this.directory).then(
      () => "",
      (error: unknown) => (error as { stdout: string }).stdout,
    );
  }
}
