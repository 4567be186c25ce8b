import type { Election } from "@tenure/client";
import { RUN_EVENTS, type RunEvent, type RunReport } from "./run-report.js";

/** Shows whether this process does what it is there for as leader. */
export interface WorkGauge {
  readonly name: string;
  readonly help: string;
}

/** The state of `tenure run` or `tenure elect` as metrics in the text format of Prometheus. */
export class RunMetrics {
  readonly #labels: string;
  readonly #counts = new Map<RunEvent, number>(RUN_EVENTS.map((event) => [event, 0]));
  readonly #work: WorkGauge;
  #isWorking = false;

  constructor(groupId: string, nodeId: string, gauge: WorkGauge) {
    this.#work = gauge;
    this.#labels = `group_id="${escaped(groupId)}",node_id="${escaped(nodeId)}"`;
  }

  notice({ event }: RunReport): void {
    this.#counts.set(event, (this.#counts.get(event) ?? 0) + 1);
  }

  /** What this process does as leader has begun, or has ended. */
  working(isWorking: boolean): void {
    this.#isWorking = isWorking;
  }

  text(election: Election): string {
    const { isLeader, term, leftMs, connection, state } = election.status();
    const events = [...this.#counts].map(
      ([event, count]) => `tenure_run_events_total{${this.#labels},event="${event}"} ${count}\n`,
    );
    return [
      this.#gauge("is_leader", "Whether this node leads the group.", Number(isLeader)),
      this.#gauge("term", "Highest known term of the group.", term),
      this.#gauge("lease_left_seconds", "How long this node may still act as leader.", leftMs / 1000),
      this.#gauge("connected", "Whether the service or store answers.", Number(connection === "connected")),
      this.#gauge("healthy", "Whether the health command succeeds.", Number(state.kind !== "unhealthy")),
      this.#gauge(this.#work.name, this.#work.help, Number(this.#isWorking)),
      "# HELP tenure_run_events_total Events that were reported, by name.\n",
      "# TYPE tenure_run_events_total counter\n",
      ...events,
    ].join("");
  }

  #gauge(name: string, help: string, value: number): string {
    const full = `tenure_run_${name}`;
    return `# HELP ${full} ${help}\n# TYPE ${full} gauge\n${full}{${this.#labels}} ${value}\n`;
  }
}

function escaped(text: string): string {
  return text.replaceAll(/[\\"]/g, String.raw`\$&`).replaceAll("\n", String.raw`\n`);
}
