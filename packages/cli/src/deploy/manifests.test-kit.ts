/** Manifests of Kubernetes: rendered by helm and kustomize, and compiled as TypeScript against the types of the Kubernetes API. */
import { execFileSync, spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { findCommand, findTool, helmBinary } from "@tenure/engines";
import { parseAllDocuments } from "yaml";

export const ROOT: string = fileURLToPath(new URL("../../../../", import.meta.url));
export const DEPLOY: string = join(ROOT, "deploy");

/** As new as the oldest version that the chart supports. */
const KUBERNETES = "1.27.0";
const TYPES: Readonly<Record<string, string>> = {
  v1: "kubernetes-models/v1",
  "apps/v1": "kubernetes-models/apps/v1",
  "policy/v1": "kubernetes-models/policy/v1",
  "networking.k8s.io/v1": "kubernetes-models/networking.k8s.io/v1",
  "rbac.authorization.k8s.io/v1": "kubernetes-models/rbac.authorization.k8s.io/v1",
  "admissionregistration.k8s.io/v1": "kubernetes-models/admissionregistration.k8s.io/v1",
  "monitoring.coreos.com/v1": "@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1",
};

export interface Container {
  readonly name: string;
  readonly image: string;
  readonly args?: readonly string[];
  readonly env?: readonly { readonly name: string }[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly securityContext?: object;
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[];
  readonly [probe: `${string}Probe`]: { readonly httpGet: { readonly path: string; readonly port: string } };
}

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly replicas?: number;
    readonly groups?: unknown;
    readonly selector?: object;
    readonly template: {
      readonly metadata: { readonly labels: Readonly<Record<string, string>> };
      readonly spec: {
        readonly containers: readonly Container[];
        readonly initContainers?: readonly Container[];
        readonly securityContext: object;
        readonly volumes?: readonly { readonly name: string }[];
        readonly topologySpreadConstraints?: readonly object[];
      };
    };
    readonly [field: string]: unknown;
  };
}

/** `helm template`, in a sandbox that has nothing but the chart: no network, no files of the user, no other processes. */
export function helm(args: readonly string[]): {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
} {
  const sandbox = ["--unshare-all", "--die-with-parent", "--clearenv", "--tmpfs", "/tmp"];
  const files = ["--ro-bind", helmBinary() ?? "", "/helm", "--ro-bind", DEPLOY, "/deploy"];
  const command = ["/helm", ...args];
  const env = ["--setenv", "HOME", "/tmp", "--chdir", "/deploy/helm"];
  return spawnSync(findCommand("bwrap") ?? "bwrap", [...sandbox, ...files, ...env, ...command], {
    encoding: "utf8",
    maxBuffer: 1 << 24,
  });
}

export function chart(...values: readonly string[]): readonly Manifest[] {
  const { status, stdout, stderr } = helm([
    "template",
    "prod",
    "tenure",
    "--kube-version",
    KUBERNETES,
    ...values.flatMap((value) => ["--set", value]),
  ]);
  if (status !== 0) throw new Error(stderr);
  return documents(stdout);
}

export function kustomize(directory: string): readonly Manifest[] {
  const built = execFileSync(findTool("kustomize") ?? "kustomize", ["build", directory], {
    encoding: "utf8",
  });
  return documents(built);
}

export function documents(text: string): readonly Manifest[] {
  return parseAllDocuments(text)
    .map((document) => {
      if (document.errors[0] !== undefined) throw document.errors[0];
      return document.toJS() as Manifest;
    })
    .filter((value) => value !== null);
}

/** What the compiler says of the manifests: a field that is missing, unknown, or of another type. */
export function typeErrors(directory: string, manifests: readonly Manifest[]): string {
  symlinkSync(join(ROOT, "node_modules"), join(directory, "node_modules"));
  const lines = manifests.map((manifest, index) => {
    const module = TYPES[manifest.apiVersion];
    if (module === undefined) throw new Error(`${manifest.apiVersion} ${manifest.kind} has no types here`);
    const type = `import(${JSON.stringify(module)}).I${manifest.kind}`;
    return `export const m${index}: ${type} = ${JSON.stringify(manifest, null, 1)};\n`;
  });
  writeFileSync(join(directory, "manifests.ts"), lines.join(""));
  const options = ["--noEmit", "--strict", "--skipLibCheck", "--module", "nodenext", "--target", "es2023"];
  const { bin } = createRequire(import.meta.url)("typescript/package.json") as { bin: { tsc: string } };
  const tsc = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), bin.tsc);
  return spawnSync(process.execPath, [tsc, ...options, "manifests.ts"], { cwd: directory, encoding: "utf8" })
    .stdout;
}
