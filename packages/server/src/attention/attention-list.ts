/** What needs attention as this server sees it: the findings about all groups, its certificate and its store. */
import {
  bySeverity,
  type Finding,
  findingShape,
  SEVERITIES,
  serverFindings,
  type Severity,
  type shapes,
  type Validity,
} from "@tenure/api";
import type { CancelTimer, Clock } from "@tenure/core";
import { type FindingListener, reportChanges } from "./finding-changes.js";
import type { GroupMonitor } from "./group-monitor.js";
import type { StoreMonitor } from "./store-monitor.js";

/** More findings than this are only counted. */
const MAX_LISTED = 1000;
const LOOK_MS = 1000;

export interface AttentionListOptions {
  readonly clock: Clock;
  readonly groups: GroupMonitor;
  readonly store: StoreMonitor;
  /** Of the server's own certificate; `null` without TLS. */
  readonly certificate: () => Validity | null;
  /** Of findings about the server. */
  readonly onFinding: FindingListener;
}

export class AttentionList {
  readonly #options: AttentionListOptions;
  #server: readonly Finding[] = [];
  #cancelLook: CancelTimer = () => {};

  constructor(options: AttentionListOptions) {
    this.#options = options;
  }

  start(): void {
    this.#look();
    this.#cancelLook = this.#options.clock.after(LOOK_MS, () => this.start());
  }

  close(): void {
    this.#cancelLook();
  }

  get certificate(): Validity | null {
    return this.#options.certificate();
  }

  get groupStates(): GroupMonitor["states"] {
    return this.#options.groups.states;
  }

  countOf(kind: Finding["kind"], severity: Severity): number {
    const ofServer = this.#server.filter((each) => each.kind === kind && each.severity === severity).length;
    return ofServer + this.#options.groups.countOf(kind, severity);
  }

  /** The most severe findings, at most `most`, and how many there are in all. `isWanted`: of findings about groups. */
  list(
    most: number = MAX_LISTED,
    isWanted: (finding: Finding) => boolean = () => true,
  ): { readonly findings: readonly Finding[]; readonly total: number } {
    this.#look();
    const found: Record<Severity, Finding[]> = { problem: [], warning: [], note: [] };
    let total = 0;
    const take = (finding: Finding): void => {
      total++;
      const list = found[finding.severity];
      if (list.length < most) list.push(finding);
    };
    for (const finding of this.#server) take(finding);
    for (const finding of this.#options.groups.findings()) if (isWanted(finding)) take(finding);
    const findings = SEVERITIES.flatMap((severity) => found[severity].toSorted(bySeverity)).slice(0, most);
    return { findings, total };
  }

  reply(maySee: (groupId: string) => boolean): shapes.AttentionReply {
    const { findings, total } = this.list(MAX_LISTED, ({ groupId }) => groupId !== null && maySee(groupId));
    return {
      findings: findings.map(findingShape),
      omitted: total - findings.length,
      checked_at_ms: Math.round(this.#options.clock.wallMs()),
    };
  }

  #look(): void {
    const { clock, store, certificate, onFinding } = this.#options;
    const before = this.#server;
    this.#server = serverFindings(
      { certificate: certificate(), store: store.facts() },
      Math.round(clock.wallMs()),
    );
    reportChanges(before, this.#server, onFinding);
  }
}
