/** What a node measures, in the registry of its service. */
import { Counter, Gauge, type Registry } from "prom-client";

export interface PeerGauges {
  readonly isLeader: () => boolean;
  readonly term: () => number;
  readonly members: () => number;
  readonly electors: () => number;
  readonly resourceManagers: () => number;
  readonly undelivered: () => number;
  /** How long a change of the electorate has been held back; 0 if none is. */
  readonly heldBackMs: () => number;
  /** How long this server has had the same reason not to campaign; 0 while it leads, campaigns or follows a leader. */
  readonly notStandingMs: () => number;
}

export class PeerMetrics {
  readonly elected: Counter;
  readonly lost: Counter<"cause">;
  readonly announceFailures: Counter;
  readonly replicationFailures: Counter;
  readonly decisions: Counter<"decision">;

  constructor(registry: Registry, gauges: PeerGauges) {
    const registers = [registry];
    const counter = (name: string, help: string): Counter => new Counter({ name, help, registers });
    const gauge = (name: string, help: string, value: () => number): void => {
      const made: Gauge = new Gauge({ name, help, registers, collect: () => made.set(value()) });
    };
    gauge("tc_is_leader", "1 while this server may act as coordinator.", () => (gauges.isLeader() ? 1 : 0));
    gauge("tc_term", "The highest term that this server has granted.", gauges.term);
    gauge("tc_members", "Servers in the active membership, as this one knows it.", gauges.members);
    gauge("tc_electors", "Servers in the electorate, as this one knows it.", gauges.electors);
    gauge("tc_rm_endpoints", "Resource managers in the registry of this server.", gauges.resourceManagers);
    gauge("tc_undelivered", "Decisions that some resource manager has not applied yet.", gauges.undelivered);
    gauge(
      "tc_step_held_back_seconds",
      "For how long a change of the electorate has been held back, for the reason in the log.",
      () => gauges.heldBackMs() / 1000,
    );
    gauge(
      "tc_not_standing_seconds",
      "For how long there is no coordinator and this server does not stand, for the reason in the log.",
      () => gauges.notStandingMs() / 1000,
    );
    this.elected = counter("tc_elected_total", "How often this server became coordinator.");
    this.lost = new Counter({
      name: "tc_lost_total",
      help: "How often this server stopped being coordinator, by cause.",
      labelNames: ["cause"],
      registers,
    });
    this.announceFailures = counter(
      "tc_announce_failures_total",
      "Announcements and goodbyes that were not confirmed.",
    );
    this.replicationFailures = counter(
      "tc_rm_replication_failures_total",
      "Registrations that were taken back because a peer did not confirm.",
    );
    this.decisions = new Counter({
      name: "tc_decisions_total",
      help: "Decisions that this server has recorded as coordinator.",
      labelNames: ["decision"],
      registers,
    });
  }
}
