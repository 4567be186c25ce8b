/** `tenure elect`: campaigns and leads without a command, for programs beside this one, such as the containers of a pod. */
import type { LeaseTime, Mandate } from "@tenure/client";
import { onAbort } from "@tenure/core/internal";
import type { Command } from "commander";
import type { Connection } from "../frame/connection.js";
import { tellDuration } from "../frame/duration.js";
import { electorCommand, withExamples } from "../frame/elector-command.js";
import { EXIT, type ExitCode, type Shell } from "../frame/shell.js";
import { campaignUntilStopped } from "../run/campaigning.js";
import { type LedEnd, LedProcess } from "../run/led-process.js";
import { type ElectFlags, readElectFlags, withElectOptions } from "./elect-options.js";
import { KubernetesPods } from "./kubernetes-pods.js";
import { PodLabel, type PodLabelReports } from "./pod-label.js";

export function electCommand(shell: Shell): Command {
  const command = withElectOptions(
    electorCommand(
      shell,
      "elect",
      "Campaign and lead without a command, for programs beside this one",
    ).argument("<group>"),
  );
  command.action((groupId: string, given: ElectFlags) => {
    const flags = readElectFlags(command, given, shell.env);
    return shell.connected(flags, (connection) => new Elect(shell, connection, groupId, flags).run());
  });
  return withExamples(
    command,
    "tenure elect billing --http :4040",
    "tenure elect billing --http :4040 --pod-label tenure-leader=billing",
  );
}

/** One `tenure elect`. */
class Elect {
  readonly #process: LedProcess;
  readonly #label: PodLabel | null;

  constructor(shell: Shell, connection: Connection, groupId: string, flags: ElectFlags) {
    const { podLabel, podName, ttl: ttlMs, grace: graceMs, kubernetesCredentials: credentials } = flags;
    const gauge = { name: "pod_labelled", help: "Whether this node's pod has the label of the leader." };
    this.#process = new LedProcess(shell, connection, { groupId, flags, once: false, gauge });
    if (podLabel === undefined) {
      this.#label = null;
      return;
    }
    const { env, clock } = shell;
    // Two requests fit between the loss of the leadership and the end of the lease.
    const requestLimitMs = Math.min(5000, Math.max(500, Math.floor(ttlMs / 10)));
    const pods = new KubernetesPods({ env, credentials, requestLimitMs, clock });
    const checkEveryMs = Math.max(5000, ttlMs);
    this.#label = new PodLabel({
      ...podLabel,
      pods,
      podName,
      checkEveryMs,
      graceMs,
      clock,
      report: this.#reports(`${podLabel.key}=${podLabel.value}`, podName),
    });
  }

  run(): Promise<ExitCode> {
    return this.#process.run(async (signal) => {
      this.#label?.start();
      try {
        return await this.#campaign(signal);
      } finally {
        await this.#label?.close();
      }
    });
  }

  async #campaign(signal: AbortSignal): Promise<LedEnd> {
    const { election, teller } = this.#process;
    await campaignUntilStopped(
      {
        election,
        acceptsNoRefusal: false,
        notice: (event) => teller.notice(event),
        lead: (mandate, losing, lease) => this.#lead(mandate, losing, lease),
      },
      signal,
    );
    return { exitCode: EXIT.done, message: "tenure elect was stopped" };
  }

  async #lead(mandate: Mandate, losing: AbortSignal, lease: LeaseTime): Promise<void> {
    const { election, teller } = this.#process;
    const lost = (): void => {
      const { state } = election.status();
      if (state.kind === "stepping-down") teller.lost(mandate, state.reason, state.error);
    };
    const stopListening = onAbort(losing, lost);
    try {
      teller.elected(mandate);
      if (this.#label === null) await aborted(losing);
      else await this.#label.lead(mandate, losing, lease);
    } finally {
      stopListening();
    }
  }

  #reports(label: string, podName: string): PodLabelReports {
    const { metrics, output } = this.#process;
    return {
      labelled: (term) => {
        metrics.working(true);
        const fields = { pod: podName, label, term };
        output.report({ event: "labelled", message: `pod ${podName} has the label ${label}`, fields });
      },
      removed: (pod) => {
        if (pod === podName) metrics.working(false);
        const message = `removed the label ${label} from pod ${pod}`;
        output.report({ event: "label_removed", message, fields: { pod, label } });
      },
      failed: ({ message: problem }, retryInMs) => {
        const message = `label ${label}: ${problem}; trying again in ${tellDuration(retryInMs)}`;
        const fields = { label, error: problem, retry_in_ms: retryInMs };
        output.report({ event: "label_failed", message, fields });
      },
    };
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else onAbort(signal, resolve);
  });
}
