/**
 * The label of the leader's pod, so that a Service of Kubernetes selects the leader only.
 *
 * Invariant:
 * 1. A pod gets the label only by a request that its own `tenure elect` sends while it leads a term, after a list in the
 *    same term has shown no other pod with the label.
 * 2. As soon as this node stops leading, at the latest a fifth of the ttl before the lease ends, it asks for the removal,
 *    and repeats that until the API has confirmed it. A lease that is given up voluntarily is kept, at most `graceMs`, until
 *    the removal is confirmed.
 * 3. Each removal changes the pod, and the request that adds the label names the version of the pod that it has read: an
 *    addition that is still under way when the label is removed is refused.
 * 4. An annotation has the term. While a node leads, it removes the label from every pod with a lower term, at its election
 *    and every `checkEveryMs` after; a node that was replaced without noticing does not touch a pod with a higher term.
 *
 * Not promised: that no two pods have the label, or that none has it without a lease. A pod whose machine is frozen or cut
 * off keeps it until the next leader removes it, an addition of such a pod may arrive after that, and what routes by the
 * label follows it later. The label is for routing. The term is the fence.
 */
import type { LeaseTime, Mandate } from "@tenure/client";
import { type Clock, sleep } from "@tenure/core";
import { KubernetesError, type KubernetesPods, type Pod } from "./kubernetes-pods.js";

export interface PodLabelOptions {
  readonly pods: KubernetesPods;
  /** The pod of this process. */
  readonly podName: string;
  readonly key: string;
  readonly value: string;
  readonly checkEveryMs: number;
  /** How long a lease that is given up voluntarily is kept for the removal. */
  readonly graceMs: number;
  readonly clock: Clock;
  readonly report: PodLabelReports;
}

export interface PodLabelReports {
  labelled(term: number): void;
  /** From this pod, or from that of an earlier leader that has not removed it. */
  removed(podName: string): void;
  /** Reported once for each problem in a row. */
  failed(error: Error, retryInMs: number): void;
}

const FIRST_RETRY_MS = 100;
const MAX_RETRY_MS = 2000;

export class PodLabel {
  readonly #options: PodLabelOptions;
  readonly #termKey: string;
  #removing: Promise<void> = Promise.resolve();
  #endRemoval = new AbortController();
  #lastProblem = "";

  constructor(options: PodLabelOptions) {
    this.#options = options;
    this.#termKey = `${options.key}-term`;
  }

  /** Removes the label that an earlier start of this container has left. */
  start(): void {
    this.#remove("start");
  }

  /** Keeps the label on the pod until `losing` aborts. Resolves when the removal is confirmed, or the lease need not be kept for it. */
  async lead({ term }: Mandate, losing: AbortSignal, lease: LeaseTime): Promise<void> {
    // A removal that arrived after the addition would undo it, so a request under way is awaited.
    this.#endRemoval.abort();
    await this.#removing;
    try {
      await this.#hold(term, losing);
    } finally {
      this.#remove("lost");
      await this.#removedWithin(() => lease.leftMs());
    }
  }

  /** Resolves when a removal that is under way is confirmed, or after the grace. */
  async close(): Promise<void> {
    await this.#removedWithin(() => Number.POSITIVE_INFINITY);
    this.#endRemoval.abort();
    await this.#removing;
  }

  async #hold(term: number, losing: AbortSignal): Promise<void> {
    let isOn = false;
    let retryMs = FIRST_RETRY_MS;
    while (!losing.aborted) {
      let waitMs = this.#options.checkEveryMs;
      try {
        await this.#put(term, losing);
        if (!isOn) this.#options.report.labelled(term);
        isOn = true;
        this.#lastProblem = "";
        retryMs = FIRST_RETRY_MS;
      } catch (error) {
        if (losing.aborted) return;
        this.#failed(error as Error, retryMs);
        waitMs = retryMs;
        retryMs = Math.min(2 * retryMs, MAX_RETRY_MS);
      }
      await this.#sleep(waitMs, losing);
    }
  }

  /** Removes the label from the pods of lower terms, then adds it to this one. */
  async #put(term: number, losing: AbortSignal): Promise<void> {
    const { pods, podName, key, value, report } = this.#options;
    for (const pod of await pods.labelled(key, value, losing)) {
      if (pod.name === podName) continue;
      if (this.#termOf(pod) > term)
        throw new Error(`pod ${pod.name} has the label with the later term ${this.#termOf(pod)}`);
      await pods.patch(pod.name, { ...this.#without(), version: pod.version }, losing);
      report.removed(pod.name);
    }
    const own = await pods.get(podName, losing);
    if (own.labels[key] === value && this.#termOf(own) === term) return;
    losing.throwIfAborted();
    const change = { labels: { [key]: value }, annotations: { [this.#termKey]: String(term) } };
    await pods.patch(podName, { ...change, version: own.version }, losing);
  }

  /** Begins to remove the label from this pod, and repeats that until the API has confirmed it. */
  #remove(why: "start" | "lost"): void {
    this.#endRemoval = new AbortController();
    this.#removing = this.#untilRemoved(why, this.#endRemoval.signal);
  }

  async #untilRemoved(why: "start" | "lost", signal: AbortSignal): Promise<void> {
    const { pods, podName, key, report } = this.#options;
    for (let retryMs = FIRST_RETRY_MS; !signal.aborted; retryMs = Math.min(2 * retryMs, MAX_RETRY_MS)) {
      try {
        if (why === "start" && (await pods.get(podName)).labels[key] === undefined) return;
        await pods.patch(podName, this.#without());
        this.#lastProblem = "";
        return report.removed(podName);
      } catch (error) {
        // The pod was deleted, and its label with it.
        if (why === "lost" && error instanceof KubernetesError && error.status === 404) return;
        this.#failed(error as Error, retryMs);
      }
      await this.#sleep(retryMs, signal);
    }
  }

  /** Waits for the removal: not beyond the grace, and not beyond the lease. While the lease is renewed, `leftMs` does not fall. */
  async #removedWithin(leftMs: () => number): Promise<void> {
    const { clock, graceMs } = this.#options;
    const untilMs = clock.monotonicMs() + graceMs;
    const removed = new AbortController();
    void this.#removing.then(() => removed.abort());
    // The removal may be confirmed already.
    await Promise.resolve();
    while (!removed.signal.aborted) {
      const waitMs = Math.min(leftMs(), untilMs - clock.monotonicMs());
      if (waitMs <= 0) return;
      await this.#sleep(waitMs, removed.signal);
    }
  }

  /** The text differs each time, so that each removal changes the pod. */
  #without(): { labels: Record<string, null>; annotations: Record<string, string> } {
    const { key, clock, podName } = this.#options;
    const since = new Date(clock.wallMs()).toISOString();
    return {
      labels: { [key]: null },
      annotations: { [this.#termKey]: `none since ${since}, by ${podName}` },
    };
  }

  #termOf({ annotations }: Pod): number {
    return Number(/^\d+$/.exec(annotations[this.#termKey] ?? "")?.[0] ?? 0);
  }

  #failed(error: Error, retryInMs: number): void {
    if (error.message === this.#lastProblem) return;
    this.#lastProblem = error.message;
    this.#options.report.failed(error, retryInMs);
  }

  #sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    return sleep(this.#options.clock, delayMs, signal).catch(() => {});
  }
}
