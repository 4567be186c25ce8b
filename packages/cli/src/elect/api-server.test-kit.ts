/**
 * A stand-in for the API server of Kubernetes, which does not run on a build machine: the pods of one namespace over HTTPS,
 * with GET, LIST by label and PATCH (RFC 7386). As the real one it checks the token and the verb, refuses another
 * `resourceVersion` with 409 and an invalid label with 422, and gives a pod a new version only if the patch changes it.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { certificate } from "../doctor/certificate.test-kit.js";

const NAMESPACE = "prod";
const LABEL_VALUE = /^(?:[A-Za-z0-9](?:[-\w.]{0,61}[A-Za-z0-9])?)?$/;

type Verb = "get" | "list" | "patch";
type Texts = Record<string, string>;

interface StoredPod {
  version: number;
  labels: Texts;
  annotations: Texts;
}

interface Patch {
  readonly metadata?: {
    readonly resourceVersion?: string;
    readonly labels?: Readonly<Record<string, string | null>>;
    readonly annotations?: Readonly<Record<string, string | null>>;
  };
}

/** A patch that was accepted. */
export interface Written {
  readonly pod: string;
  readonly labels: Readonly<Record<string, string | null>>;
  /** The pods that have the label `tenure-leader` after it. */
  readonly labelled: readonly string[];
}

export class ApiServer {
  readonly directory: string = mkdtempSync(join(tmpdir(), "tenure-kubernetes-"));
  readonly written: Written[] = [];
  /** The statuses of the answers to patches. */
  readonly answered: number[] = [];
  /** What the role of the service account does not allow. */
  readonly denied: Set<Verb> = new Set();
  /** The number of patches that fail with 500 before they do anything. */
  failing = 0;
  /** Called with each patch before it is handled. The patch waits for the promise, also if its sender has gone. */
  arrived: (patch: Patch) => Promise<void> | void = () => {};
  readonly #pods = new Map<string, StoredPod>();
  readonly #server: Server;
  readonly #waiting = new Set<() => void>();
  #version = 100;

  private constructor() {
    const { cert, key } = certificate(this.directory, -1, 1);
    this.#server = createServer({ cert: readFileSync(cert), key: readFileSync(key) });
    this.#server.on("request", (request, response) => void this.#handle(request, response));
    writeFileSync(join(this.directory, "ca.crt"), readFileSync(cert));
    writeFileSync(join(this.directory, "namespace"), NAMESPACE);
    this.replaceToken("first");
  }

  static async open(...pods: readonly string[]): Promise<ApiServer> {
    const api = new ApiServer();
    api.#server.listen(0, "127.0.0.1");
    await once(api.#server, "listening");
    for (const name of pods) api.#pods.set(name, { version: ++api.#version, labels: {}, annotations: {} });
    return api;
  }

  /** What Kubernetes sets in each container. */
  get env(): Readonly<Record<string, string>> {
    const { port } = this.#server.address() as AddressInfo;
    return { KUBERNETES_SERVICE_HOST: "127.0.0.1", KUBERNETES_SERVICE_PORT: String(port) };
  }

  get labelled(): readonly string[] {
    return [...this.#pods].filter(([, { labels }]) => "tenure-leader" in labels).map(([name]) => name);
  }

  /** As Kubernetes does before a token expires. Earlier tokens are refused. */
  replaceToken(token: string): void {
    writeFileSync(join(this.directory, "token"), `${token}\n`);
  }

  delete(pod: string): void {
    this.#pods.delete(pod);
  }

  /** Resolves when the condition holds; it is checked after each answer to a patch. */
  async until(isSo: () => boolean): Promise<void> {
    while (!isSo()) await new Promise<void>((resolve) => this.#waiting.add(resolve));
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await once(this.#server.close(), "close");
    rmSync(this.directory, { recursive: true, force: true });
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request).catch(() => null);
    if (body === null) return;
    const [status, answer] = await this.#answer(request, body);
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(answer));
    if (request.method !== "PATCH") return;
    this.answered.push(status);
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }

  async #answer({ method, url = "", headers }: IncomingMessage, body: string): Promise<[number, object]> {
    const token = readFileSync(join(this.directory, "token"), "utf8").trim();
    if (headers.authorization !== `Bearer ${token}`) return refused(401, "Unauthorized");
    const { pathname, searchParams } = new URL(url, "https://kubernetes");
    const [, namespace, name] = /^\/api\/v1\/namespaces\/([^/]+)\/pods(?:\/([^/]+))?$/.exec(pathname) ?? [];
    if (namespace !== NAMESPACE) return refused(404, "the server could not find the requested resource");
    const verb = method === "PATCH" ? "patch" : name === undefined ? "list" : "get";
    if (this.denied.has(verb))
      return refused(403, `pods is forbidden: the service account cannot ${verb} resource "pods"`);
    if (name === undefined) return [200, this.#list(searchParams.get("labelSelector") ?? "")];
    if (verb === "patch") await this.arrived(JSON.parse(body) as Patch);
    if (verb === "patch" && this.failing > 0) {
      this.failing -= 1;
      return refused(500, "etcdserver: request timed out");
    }
    const pod = this.#pods.get(name);
    if (pod === undefined) return refused(404, `pods "${name}" not found`);
    if (verb === "get") return [200, shown(name, pod)];
    if (headers["content-type"] !== "application/merge-patch+json")
      return refused(415, "the body of the request was in an unknown format");
    return this.#patch(name, pod, JSON.parse(body) as Patch);
  }

  #list(selector: string): object {
    const [key = "", value] = selector.split("=");
    const found = [...this.#pods].filter(([, { labels }]) => labels[key] === value);
    return { kind: "PodList", items: found.map(([name, pod]) => shown(name, pod)) };
  }

  #patch(name: string, pod: StoredPod, { metadata = {} }: Patch): [number, object] {
    const { resourceVersion, labels = {}, annotations = {} } = metadata;
    if (resourceVersion !== undefined && resourceVersion !== String(pod.version))
      return refused(409, `Operation cannot be fulfilled on pods "${name}": the object has been modified`);
    if (Object.values(labels).some((value) => value !== null && !LABEL_VALUE.test(value)))
      return refused(422, `Pod "${name}" is invalid: metadata.labels: Invalid value`);
    const before = JSON.stringify(shown(name, pod));
    merge(pod.labels, labels);
    merge(pod.annotations, annotations);
    if (JSON.stringify(shown(name, pod)) !== before) pod.version = ++this.#version;
    this.written.push({ pod: name, labels, labelled: this.labelled });
    return [200, shown(name, pod)];
  }
}

function merge(target: Texts, change: Readonly<Record<string, string | null>>): void {
  for (const [key, value] of Object.entries(change)) {
    if (value === null) Reflect.deleteProperty(target, key);
    else target[key] = value;
  }
}

function shown(name: string, { version, labels, annotations }: StoredPod): object {
  return { kind: "Pod", metadata: { name, resourceVersion: String(version), labels, annotations } };
}

function refused(code: number, message: string): [number, object] {
  return [code, { kind: "Status", status: "Failure", code, message }];
}
