/** The Helm chart and the Kustomize bases of `deploy/`, as helm and kustomize render them. No cluster runs here. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isMissing } from "@tenure/engines";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { Scratch } from "../scratch.test-kit.js";
import { CommandLines } from "./command-lines.test-kit.js";
import {
  chart,
  type Container,
  DEPLOY,
  helm,
  kustomize,
  type Manifest,
  typeErrors,
} from "./manifests.test-kit.js";

const SECURE = ["tls.secretName=tls", "auth.adminTokenSecret=admin"];
const WHOLE = [
  "store.existingSecret=store",
  ...SECURE,
  "tls.clientCa=true",
  "auth.jwt.jwks=https://issuer.example/keys",
  "auth.jwt.issuer=https://issuer.example",
  "auth.jwt.audience=tenure",
  "grpc.enabled=true",
  "extraArgs={--explicit-groups}",
  "serviceMonitor.enabled=true",
  "prometheusRule.enabled=true",
];
const RESTRICTED = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ["ALL"] },
};

describe.skipIf(isMissing("helm") || isMissing("kustomize"))("manifests for Kubernetes", () => {
  const scratch = new Scratch();
  let lines: CommandLines;
  let rendered: Readonly<Record<string, readonly Manifest[]>>;
  beforeAll(async () => {
    lines = await CommandLines.load();
    rendered = {
      "chart with everything": chart(...WHOLE),
      "chart with a URL": chart("store.url=etcd://a:2379/tenure", ...SECURE, "networkPolicy.enabled=false"),
      "chart with the embedded store": chart("embedded.enabled=true", "replicas=1", "insecure=true"),
      "kustomize/base": kustomize(join(DEPLOY, "kustomize/base")),
      "kustomize/leader-pod": kustomize(join(DEPLOY, "kustomize/leader-pod")),
      "kustomize/monitoring": kustomize(join(DEPLOY, "kustomize/monitoring")),
    };
  });
  afterAll(() => scratch.close());

  const all = (): readonly Manifest[] => Object.values(rendered).flat();
  const workloads = (): readonly Manifest[] =>
    all().filter(({ kind }) => ["Deployment", "StatefulSet"].includes(kind));
  const containersOf = ({ spec }: Manifest): readonly Container[] => [
    ...(spec.template.spec.initContainers ?? []),
    ...spec.template.spec.containers,
  ];

  it("the manifests have only fields and values that the Kubernetes API has", () => {
    expect(typeErrors(scratch.directory(), all())).toBe("");
    expect(all().length).toBeGreaterThan(20);
  });

  it("a field that the Kubernetes API does not have is found", () => {
    const [first] = workloads();
    const wrong = structuredClone(first) as unknown as {
      spec: { template: { spec: { containers: object[] } } };
    };
    Object.assign(wrong.spec.template.spec.containers[0] as object, { readynessProbe: {} });
    expect(typeErrors(scratch.directory(), [wrong as unknown as Manifest])).toMatch(/TS2353.*readynessProbe/);
  });

  it("every option and variable in the manifests exists, and every probe asks a route of the command", () => {
    const routes: Readonly<Record<string, readonly string[]>> = {
      tenure: ["/healthz", "/readyz"],
      elect: ["/healthz"],
    };
    const ours = workloads()
      .flatMap(containersOf)
      .filter(({ image }) => /^tenure:\d/.test(image));
    expect(ours).toHaveLength(5);
    for (const { name, args = [], env = [], ports = [], ...rest } of ours) {
      expect(
        lines.problems(
          args,
          env.map((each) => each.name),
        ),
      ).toEqual([]);
      const probes = Object.entries(rest).filter(([key]) => key.endsWith("Probe")) as [
        string,
        { httpGet: { path: string; port: string } },
      ][];
      for (const [, { httpGet }] of probes) {
        expect(routes[name]).toContain(httpGet.path);
        expect(ports.map((port) => port.name)).toContain(httpGet.port);
      }
      if (name === "tenure")
        expect(probes.map(([key]) => key).toSorted()).toEqual([
          "livenessProbe",
          "readinessProbe",
          "startupProbe",
        ]);
    }
  });

  it("pods run without privileges, on a read-only root, and have each volume that they mount", () => {
    for (const workload of workloads()) {
      const { spec } = workload.spec.template;
      expect(spec.securityContext).toMatchObject({
        runAsNonRoot: true,
        runAsUser: 65_532,
        seccompProfile: { type: "RuntimeDefault" },
      });
      expect(spec).toMatchObject({ automountServiceAccountToken: false });
      const claims = (workload.spec["volumeClaimTemplates"] ?? []) as { metadata: { name: string } }[];
      const volumes = [
        ...(spec.volumes ?? []).map(({ name }) => name),
        ...claims.map(({ metadata }) => metadata.name),
      ];
      for (const { securityContext, volumeMounts = [] } of containersOf(workload)) {
        expect(securityContext).toEqual(RESTRICTED);
        for (const { name } of volumeMounts) expect(volumes).toContain(name);
      }
    }
  });

  it("services, budgets and network policies select the pods, and servers are spread over machines and zones", () => {
    for (const [name, manifests] of Object.entries(rendered)) {
      const workload = manifests.find(({ kind }) => ["Deployment", "StatefulSet"].includes(kind));
      if (workload === undefined) continue;
      const { labels } = workload.spec.template.metadata;
      for (const { kind, spec, metadata } of manifests) {
        const selector: { matchLabels?: object } | undefined = spec?.["podSelector"] ?? spec?.selector;
        if (!["Service", "PodDisruptionBudget", "NetworkPolicy"].includes(kind)) continue;
        const wanted = selector?.matchLabels ?? selector ?? {};
        if (metadata.name === "billing-leader")
          expect(wanted).toEqual({ ...labels, "tenure-leader": "billing" });
        else expect(labels, `${name}: ${kind}`).toMatchObject(wanted);
        expect(Object.keys(wanted).length).toBeGreaterThan(0);
      }
      if (name.startsWith("chart") || name.endsWith("base"))
        for (const constraint of workload.spec.template.spec.topologySpreadConstraints ?? [])
          expect(constraint).toMatchObject({ labelSelector: { matchLabels: {} } });
    }
    const kinds = (name: string) => (rendered[name] ?? []).map(({ kind }) => kind);
    expect(kinds("chart with everything")).toContain("PodDisruptionBudget");
    expect(kinds("chart with the embedded store")).toEqual(["NetworkPolicy", "Service", "StatefulSet"]);
    expect(kinds("chart with a URL")).not.toContain("NetworkPolicy");
  });

  it("the PrometheusRule of the chart is deploy/prometheus/alerts.yml", () => {
    const rule = (rendered["chart with everything"] ?? []).find(({ kind }) => kind === "PrometheusRule");
    expect(rule?.spec).toEqual(parse(readFileSync(join(DEPLOY, "prometheus/alerts.yml"), "utf8")));
  });

  it.each([
    [["tls.secretName=tls", "auth.adminTokenSecret=a"], "set exactly one of store.url, store.existingSecret"],
    [["store.url=etcd://a/t", "embedded.enabled=true", "insecure=true"], "set exactly one of store.url"],
    [["embedded.enabled=true", "insecure=true"], "the embedded store has one owner: set replicas=1"],
    [
      ["store.url=etcd://a/t", "auth.adminTokenSecret=a"],
      "set tls.secretName and one of auth.adminTokenSecret",
    ],
    [["store.url=etcd://a/t", "tls.secretName=tls"], "set tls.secretName and one of auth.adminTokenSecret"],
    [["store.url=redis://a", ...SECURE], "Does not match pattern"],
    [["store.url=etcd://a/t", ...SECURE, "image.tag=latest"], "image.tag"],
    [["store.url=etcd://a/t", ...SECURE, "replica=2"], "Additional property replica is not allowed"],
  ])("the chart refuses %j", (values, problem) => {
    expect(() => chart(...values)).toThrow(problem);
  });

  it("the commands in docs/DEPLOYMENT.md render the chart, and name options and directories that exist", () => {
    const page = readFileSync(join(DEPLOY, "../docs/DEPLOYMENT.md"), "utf8").replaceAll(/\\\n\s*/g, "");
    const [, helmCommand = ""] = /^helm install prod deploy\/helm\/tenure (.+)$/m.exec(page) ?? [];
    const values = [...helmCommand.matchAll(/--set (\S+)/g)].map(([, value = ""]) => value);
    expect(chart(...values).map(({ kind }) => kind)).toContain("Deployment");
    const [, serve = ""] = /^docker run .+ tenure:\S+ (serve .+)$/m.exec(page) ?? [];
    expect(lines.problems(serve.split(" "), [])).toEqual([]);
    const applied = [...page.matchAll(/^kubectl (?:apply -k|kustomize) deploy\/kustomize\/(\S+)$/gm)];
    expect(new Set(applied.map(([, name]) => `kustomize/${name}`))).toEqual(
      new Set(["kustomize/base", "kustomize/leader-pod"]),
    );
  });

  it("helm lint accepts the chart", () => {
    const values = ["store.url=etcd://a/t", ...SECURE].flatMap((value) => ["--set", value]);
    const { status, stdout } = helm(["lint", "tenure", ...values]);
    expect(stdout).toContain("1 chart(s) linted, 0 chart(s) failed");
    expect(status).toBe(0);
  });

  it("the role of the sidecar allows exactly what tenure elect requests of the Kubernetes API", () => {
    const manifests = rendered["kustomize/leader-pod"] ?? [];
    const role = manifests.find(({ kind }) => kind === "Role") as unknown as { rules: unknown };
    expect(role.rules).toEqual([{ apiGroups: [""], resources: ["pods"], verbs: ["get", "list", "patch"] }]);
    const [elect] = manifests.filter(({ kind }) => kind === "Deployment").flatMap(containersOf);
    expect(elect?.volumeMounts?.map(({ mountPath }) => mountPath)).toContain(
      "/var/run/secrets/kubernetes.io/serviceaccount",
    );
  });
});
