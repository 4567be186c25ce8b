/** A real Prometheus that scrapes one server every second and evaluates the alert rules of `deploy/`. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { EngineProcess, findTool, freePorts } from "@tenure/engines";

const RULES = fileURLToPath(new URL("../../../../deploy/prometheus/alerts.yml", import.meta.url));

export class Prometheus implements AsyncDisposable {
  readonly #process: EngineProcess;
  readonly #url: string;

  private constructor(process: EngineProcess, url: string) {
    this.#process = process;
    this.#url = url;
  }

  static async start(directory: string, target: URL, caFile: string): Promise<Prometheus> {
    const [port = 0] = await freePorts(1);
    const config = join(directory, "prometheus.yml");
    const scrape = {
      job_name: "tenure",
      scheme: "https",
      tls_config: { ca_file: caFile },
      static_configs: [{ targets: [target.host] }],
    };
    const every = { scrape_interval: "1s", scrape_timeout: "1s", evaluation_interval: "1s" };
    // JSON is YAML.
    writeFileSync(config, JSON.stringify({ global: every, rule_files: [RULES], scrape_configs: [scrape] }));
    const url = `http://127.0.0.1:${port}`;
    const process = new EngineProcess("prometheus", {
      file: findTool("prometheus") ?? "prometheus",
      args: [
        `--config.file=${config}`,
        `--storage.tsdb.path=${join(directory, "prometheus")}`,
        `--web.listen-address=127.0.0.1:${port}`,
        "--log.level=error",
      ],
      cwd: directory,
      isReady: async () => (await fetch(`${url}/-/ready`)).ok,
    });
    await process.start();
    return new Prometheus(process, url);
  }

  /** The alerts that fire, as `NAME GROUP`, or `NAME` if an alert is about the server. */
  async alerts(): Promise<string[]> {
    const { data } = (await (await fetch(`${this.#url}/api/v1/alerts`)).json()) as {
      data: { alerts: { state: string; labels: { alertname: string; group_id?: string } }[] };
    };
    return data.alerts
      .filter(({ state }) => state === "firing")
      .map(({ labels }) => [labels.alertname, labels.group_id].filter(Boolean).join(" "))
      .toSorted();
  }

  /** The value of an expression; NaN if there is none. */
  async value(expression: string): Promise<number> {
    const query = `${this.#url}/api/v1/query?query=${encodeURIComponent(expression)}`;
    const { data } = (await (await fetch(query)).json()) as {
      data: { result: { value: [number, string] }[] };
    };
    return Number(data.result[0]?.value[1] ?? Number.NaN);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process.kill();
  }
}
