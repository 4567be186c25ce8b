/** The files of `deploy/compose`, parsed: docker compose does not run here. Their servers are those that the tests of stores start. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { CommandLines } from "./command-lines.test-kit.js";
import { DEPLOY } from "./manifests.test-kit.js";

interface Service {
  readonly image: string;
  readonly command?: readonly string[];
  readonly build?: { readonly context: string; readonly dockerfile: string };
  readonly environment?: Readonly<Record<string, string>>;
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly secrets?: readonly string[];
  readonly restart?: string;
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly [field: string]: unknown;
}

interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes: object;
  readonly secrets: Readonly<Record<string, { readonly file: string }>>;
}

const FILES = ["compose.yaml", "postgres.yaml"] as const;

describe("compose files", () => {
  let lines: CommandLines;
  beforeAll(async () => {
    lines = await CommandLines.load();
  });

  const text = (file: string): string => readFileSync(join(DEPLOY, "compose", file), "utf8");
  const compose = (file: string): Compose => parse(text(file), { merge: true }) as Compose;
  const tenures = (file: string): [string, Service][] =>
    Object.entries(compose(file).services).filter(([name]) => name.startsWith("tenure"));

  it.each(FILES)(
    "%s runs tenure serve with options that exist, without privileges, on this machine only",
    (file) => {
      expect(tenures(file)).toHaveLength(file === "compose.yaml" ? 3 : 1);
      for (const [, service] of tenures(file)) {
        expect(lines.problems(service.command ?? [], Object.keys(service.environment ?? {}))).toEqual([]);
        expect(service).toMatchObject({
          read_only: true,
          cap_drop: ["ALL"],
          security_opt: ["no-new-privileges:true"],
        });
        expect(service.ports).toEqual([expect.stringMatching(/^127\.0\.0\.1:742\d:7420$/)]);
        expect(service.build).toEqual({ context: "../..", dockerfile: "deploy/docker/Dockerfile" });
        expect(service.healthcheck?.test).toEqual(["CMD", "/usr/local/bin/node", "/app/health.mjs"]);
      }
      const ports = tenures(file).flatMap(([, { ports = [] }]) => ports);
      expect(new Set(ports).size).toBe(ports.length);
    },
  );

  it.each(FILES)(
    "each service of %s has a pinned image, a health check, a restart policy, and what it refers to",
    (file) => {
      const { services, volumes, secrets } = compose(file);
      for (const [name, service] of Object.entries(services)) {
        expect(service.image, name).toMatch(/^[\w./-]+:(?:\$\{TENURE_VERSION:-\d+\.\d+\.\d+\}|v?\d[\w.-]*)$/);
        expect(service.restart).toBe("unless-stopped");
        expect(service.healthcheck?.test[0]).toBe("CMD");
        for (const volume of service.volumes ?? [])
          expect(Object.keys(volumes)).toContain(volume.split(":")[0]);
        for (const secret of service.secrets ?? []) expect(Object.keys(secrets)).toContain(secret);
        for (const [other, { condition }] of Object.entries(service.depends_on ?? {})) {
          expect(services[other]?.healthcheck).toBeDefined();
          expect(condition).toBe("service_healthy");
        }
      }
    },
  );

  it.each(FILES)("%s contains no password, and the files of its secrets are not committed", (file) => {
    const { services, secrets } = compose(file);
    const variables = Object.values(services).flatMap(({ environment = {} }) => Object.entries(environment));
    for (const [name, value] of variables)
      if (/PASSWORD|TOKEN|SECRET/.test(name)) expect(value).toMatch(/^\/run\/secrets\//);
    expect(text(file).replaceAll(/^ *#.*$/gm, "")).not.toMatch(/:\/\/[^/\s]*:[^/\s]*@/);
    const ignored = text(".gitignore").split("\n");
    for (const { file: secret } of Object.values(secrets))
      expect(ignored).toContain(secret.replace("./", ""));
    for (const [, { env_file: files = [] }] of Object.entries(services))
      expect(ignored).toEqual(expect.arrayContaining(files as string[]));
  });

  it("the etcd members of compose.yaml know each other, and the servers use all of them", () => {
    const { services } = compose("compose.yaml");
    const members = Object.entries(services).filter(([name]) => name.startsWith("etcd"));
    const names = members.map(([name]) => name);
    for (const [name, { command = [] }] of members) {
      expect(command).toContain(`--name=${name}`);
      expect(command).toContain(`--advertise-client-urls=http://${name}:2379`);
      expect(command).toContain(`--initial-advertise-peer-urls=http://${name}:2380`);
      expect(command).toContain(
        `--initial-cluster=${names.map((each) => `${each}=http://${each}:2380`).join(",")}`,
      );
    }
    const store = `--store=etcd://${names.map((name) => `${name}:2379`).join(",")}/tenure`;
    for (const [, { command, depends_on }] of tenures("compose.yaml")) {
      expect(command).toContain(store);
      expect(Object.keys(depends_on ?? {})).toEqual(names);
    }
  });
});
