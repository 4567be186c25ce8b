/** Dependencies point one way, towards core; each that is used is declared, and each that is declared is used. */
import { builtinModules } from "node:module";
import { DEPENDENCY_KINDS, importsOf, isCode, isTest, lineOf, select, workspaces } from "./tree.mjs";

const ANY = "any";
const SCOPE = "@tenure/";

/** Which packages a package may name, in package.json and in its source. */
export const ALLOWED = {
  core: [],
  api: ["core"],
  engines: [],
  stores: ["core", "engines"],
  client: ["api", "core", "stores", "fence", "engines"],
  fence: ["core", "engines"],
  server: ["api", "core", "stores", "client", "fence", "dashboard", "engines"],
  peers: ["core"],
  coordinator: ["core", "client"],
  dashboard: ["api", "engines"],
  cli: ANY,
  simulation: ANY,
  benchmarks: ANY,
  examples: ANY,
};

export const dependencyRules = {
  "dependency-direction": (tree) =>
    workspaces(tree).flatMap((workspace) => [
      ...undeclaredInTable(workspace),
      ...manifestDirection(workspace),
      ...importDirection(workspace, tree),
    ]),
  "core-stands-alone": coreStandsAlone,
  "declared-dependencies": declaredDependencies,
  "used-dependencies": usedDependencies,
};

function sources(tree, directory) {
  return select(tree, (file) => file.startsWith(`${directory}/`) && isCode(file)).flatMap(({ file, text }) =>
    importsOf(text).map((found) => ({ file, ...found })),
  );
}

function mayName(workspace, target) {
  const allowed = ALLOWED[workspace.name] ?? [];
  return allowed === ANY || allowed.includes(target);
}

function allowedText(workspace) {
  const allowed = ALLOWED[workspace.name] ?? [];
  return allowed.length === 0 ? "none" : allowed.join(", ");
}

function undeclaredInTable({ name, file }) {
  if (Object.hasOwn(ALLOWED, name)) return [];
  return [
    { file, line: 1, problem: `package ${name} is not in the table of ALLOWED dependencies; add it there` },
  ];
}

function manifestDirection(workspace) {
  return DEPENDENCY_KINDS.flatMap((kind) => Object.keys(workspace.json[kind] ?? {}))
    .filter((name) => name.startsWith(SCOPE) && !mayName(workspace, name.slice(SCOPE.length)))
    .map((name) => ({
      file: workspace.file,
      line: lineOf(workspace.text, `"${name}"`),
      problem: `${workspace.name} must not depend on ${name} (allowed: ${allowedText(workspace)}); move the code towards core`,
    }));
}

function importDirection(workspace, tree) {
  return sources(tree, workspace.directory).flatMap(({ file, line, name }) => {
    if (name.startsWith(".")) {
      if (!leaves(file, name, workspace.directory)) return [];
      return [{ file, line, problem: `${name} leaves the package; import the other package by its name` }];
    }
    if (!name.startsWith(SCOPE)) return [];
    const target = name.slice(SCOPE.length).split("/")[0];
    if (target === workspace.name) {
      return [
        {
          file,
          line,
          problem: `${name} is this very package, and would load its build; import by relative path`,
        },
      ];
    }
    if (mayName(workspace, target)) return [];
    const problem = `${workspace.name} must not import ${name} (allowed: ${allowedText(workspace)}); move the code towards core`;
    return [{ file, line, problem }];
  });
}

function leaves(file, name, directory) {
  const resolved = new URL(name, `file:///${file}`).pathname.slice(1);
  return !resolved.startsWith(`${directory}/`);
}

function coreStandsAlone(tree) {
  const core = workspaces(tree).find(({ name }) => name === "core");
  if (core === undefined) return [];
  const declared = DEPENDENCY_KINDS.filter((kind) => Object.keys(core.json[kind] ?? {}).length > 0).map(
    (kind) => ({
      file: core.file,
      line: lineOf(core.text, `"${kind}"`),
      problem: `core has ${kind}; it must have none at all`,
    }),
  );
  const imported = sources(tree, `${core.directory}/src`)
    .filter(({ file, name }) => !isTest(file) && !name.startsWith(".") && !name.startsWith("node:"))
    .map(({ file, line, name }) => ({
      file,
      line,
      problem: `core imports ${name}; only its own files and node: are open to it`,
    }));
  return [...declared, ...imported];
}

/**
 * Workspaces hoist: a package that is not declared is found all the same, until somebody installs ours alone. What only runs
 * in this repository, tests and private packages, may use the devDependencies that all share.
 */
function declaredDependencies(tree) {
  const shared = Object.keys(JSON.parse(tree.get("package.json") ?? "{}").devDependencies ?? {});
  return workspaces(tree).flatMap(({ name, directory, json }) => {
    const own = DEPENDENCY_KINDS.flatMap((kind) => Object.keys(json[kind] ?? {}));
    const shipped = DEPENDENCY_KINDS.filter((kind) => kind !== "devDependencies").flatMap((kind) =>
      Object.keys(json[kind] ?? {}),
    );
    return sources(tree, `${directory}/src`).flatMap(({ file, line, name: specifier }) => {
      const dependency = packageOf(specifier);
      if (dependency === null || dependency === `${SCOPE}${name}`) return [];
      const known = json.private === true || isForTests(file) ? [...own, ...shared] : shipped;
      if (known.includes(dependency)) return [];
      const place = isForTests(file) ? "devDependencies" : "dependencies";
      return [
        {
          file,
          line,
          problem: `${dependency} is not declared; add it to ${place} in ${directory}/package.json`,
        },
      ];
    });
  });
}

/** A dependency that no code names is still downloaded by every user. */
function usedDependencies(tree) {
  const all = workspaces(tree);
  return all.flatMap((workspace) => {
    const { directory, file, text, json } = workspace;
    const code = select(tree, (path) => path.startsWith(`${directory}/`) && isCode(path));
    const declared = new Set(DEPENDENCY_KINDS.flatMap((kind) => Object.keys(json[kind] ?? {})));
    const isUsed = (name) =>
      code.some((source) => names(source.text, name)) ||
      isTypesOf(name, declared) ||
      isPeerOf(name, declared, all);
    return [...declared]
      .filter((name) => !isUsed(name))
      .map((name) => ({
        file,
        line: lineOf(text, `"${name}"`),
        problem: `${name} is declared and never used; remove it from ${file}`,
      }));
  });
}

function names(text, dependency) {
  return text.includes(`"${dependency}"`) || text.includes(`"${dependency}/`);
}

/** `@types/pg` is used with `pg`. */
function isTypesOf(name, declared) {
  return name.startsWith("@types/") && declared.has(name.slice("@types/".length));
}

/** Provides an optional library of another dependency, as the server provides LMDB to the stores. */
function isPeerOf(name, declared, all) {
  return all.some(({ json }) => declared.has(json.name) && json.peerDependencies?.[name] !== undefined);
}

/** Tests and what only they use: neither is published. */
function isForTests(file) {
  return isTest(file) || file.endsWith(".test-kit.ts");
}

/** `null` for files and for what Node brings along. */
function packageOf(specifier) {
  if (/^[./]|^node:/.test(specifier) || builtinModules.includes(specifier)) return null;
  return specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
}
