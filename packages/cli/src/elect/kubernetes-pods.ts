/**
 * The pods of a namespace, read and patched through the Kubernetes API. It uses what Kubernetes mounts into a container: the
 * address in the environment, and a directory with the token, the CA and the namespace. Token and CA are read for each request,
 * because Kubernetes replaces them while the process runs. Each request has a connection of its own: a request that is aborted
 * then ends with its connection.
 */
import { readFile } from "node:fs/promises";
import { request } from "node:https";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { BackendUnavailableError, type Clock, InvalidRequestError } from "@tenure/core";
import { within } from "@tenure/core/internal";
import type { Environment } from "../frame/shell.js";

export const DEFAULT_CREDENTIALS = "/var/run/secrets/kubernetes.io/serviceaccount";

export interface Pod {
  readonly name: string;
  /** Changes with each change of the pod. */
  readonly version: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** `null` removes a label or annotation. */
export interface PodChange {
  readonly labels: Readonly<Record<string, string | null>>;
  readonly annotations: Readonly<Record<string, string | null>>;
  /** The change is refused if the pod has another version. */
  readonly version?: string;
}

/** The API refused a request; its message is that of the API. */
export class KubernetesError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export interface KubernetesPodsOptions {
  readonly env: Environment;
  readonly credentials: string;
  readonly requestLimitMs: number;
  readonly clock: Clock;
}

export class KubernetesPods {
  readonly #options: KubernetesPodsOptions;
  readonly #host: string;
  readonly #port: string;

  constructor(options: KubernetesPodsOptions) {
    this.#options = options;
    const { KUBERNETES_SERVICE_HOST: host = "", KUBERNETES_SERVICE_PORT: port = "" } = options.env;
    if (host === "" || port === "")
      throw new InvalidRequestError(
        "--pod-label",
        "needs the Kubernetes API: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set, so this is not a pod",
      );
    this.#host = host;
    this.#port = port;
  }

  async get(name: string, signal?: AbortSignal): Promise<Pod> {
    return podOf(await this.#send("GET", `/${encodeURIComponent(name)}`, null, signal));
  }

  async labelled(key: string, value: string, signal?: AbortSignal): Promise<readonly Pod[]> {
    const query = new URLSearchParams({ labelSelector: `${key}=${value}` });
    const { items = [] } = (await this.#send("GET", `?${query.toString()}`, null, signal)) as {
      items?: unknown[];
    };
    return items.map(podOf);
  }

  async patch(
    name: string,
    { labels, annotations, version }: PodChange,
    signal?: AbortSignal,
  ): Promise<void> {
    const metadata = { labels, annotations, ...(version === undefined ? {} : { resourceVersion: version }) };
    await this.#send("PATCH", `/${encodeURIComponent(name)}`, { metadata }, signal);
  }

  #send(
    method: string,
    path: string,
    body: object | null,
    signal: AbortSignal | undefined,
  ): Promise<unknown> {
    const { clock, requestLimitMs } = this.#options;
    const late = () =>
      new BackendUnavailableError(`the Kubernetes API did not answer within ${requestLimitMs} ms`);
    return within(clock, { limitMs: requestLimitMs, signal, late }, (limit) =>
      this.#answer(method, path, body, limit),
    );
  }

  async #answer(method: string, path: string, body: object | null, signal: AbortSignal): Promise<unknown> {
    const [token, ca, namespace] = await Promise.all(
      ["token", "ca.crt", "namespace"].map((name) => this.#credential(name)),
    );
    const json = body === null ? undefined : JSON.stringify(body);
    const { status, answer } = await new Promise<{ status: number; answer: string }>((resolve, reject) => {
      const sent = request(
        {
          host: this.#host,
          port: this.#port,
          ca,
          method,
          path: `/api/v1/namespaces/${encodeURIComponent(namespace ?? "")}/pods${path}`,
          agent: false,
          signal,
          headers: {
            authorization: `Bearer ${token}`,
            accept: "application/json",
            ...(json === undefined
              ? {}
              : {
                  "content-type": "application/merge-patch+json",
                  "content-length": Buffer.byteLength(json),
                }),
          },
        },
        (response) => {
          text(response).then((read) => resolve({ status: response.statusCode ?? 0, answer: read }), reject);
        },
      );
      sent.once("error", reject);
      sent.end(json);
    }).catch((cause: unknown) => {
      if (signal.aborted) throw signal.reason as Error;
      const { message } = cause as Error;
      throw new BackendUnavailableError(`the Kubernetes API cannot be reached: ${message}`, { cause });
    });
    if (status < 200 || status > 299) throw new KubernetesError(status, messageOf(status, answer));
    return JSON.parse(answer);
  }

  async #credential(name: string): Promise<string> {
    const file = join(this.#options.credentials, name);
    try {
      return (await readFile(file, "utf8")).trim();
    } catch (cause) {
      const { message } = cause as Error;
      throw new InvalidRequestError("--kubernetes-credentials", `cannot be read: ${message}`, { cause });
    }
  }
}

/** A refusal has a Status object with a sentence. */
function messageOf(status: number, answer: string): string {
  try {
    const { message } = JSON.parse(answer) as { message?: unknown };
    if (typeof message === "string") return `the Kubernetes API answered ${status}: ${message}`;
  } catch {
    // A proxy in between answers with other text.
  }
  return `the Kubernetes API answered ${status}`;
}

function podOf(value: unknown): Pod {
  const { metadata } = value as {
    metadata: {
      name: string;
      resourceVersion: string;
      labels?: Record<string, string>;
      annotations?: Record<string, string>;
    };
  };
  const { name, resourceVersion, labels = {}, annotations = {} } = metadata;
  return { name, version: resourceVersion, labels, annotations };
}
