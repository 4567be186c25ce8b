/**
 * Follows every group of the elector: which are led, vacant, held back or flapping, and what needs attention. Events of the watch
 * over all groups are taken at once. Everything that no event reports (a pause, a missed renewal, a new group, time that passes) is
 * found by rounds over all groups in short slices, so that no scrape and no request ever has to look at all groups.
 */
import type { Finding, GroupState, Severity } from "@tenure/api";
import type { CancelTimer, Clock, WatchEvent } from "@tenure/core";
import type { InspectedGroup, Inspector } from "@tenure/core/internal";
import { type FindingListener, reportChanges } from "./finding-changes.js";
import { type FollowedChange, MonitoredGroup } from "./monitored-group.js";

export interface GroupMonitorOptions {
  readonly clock: Clock;
  readonly inspector: Pick<Inspector, "group" | "after">;
  /** Called for every event. Must be quick and must not throw. */
  readonly onChange: (event: WatchEvent, change: FollowedChange) => void;
  readonly onFinding: FindingListener;
}

/** A slice of a round begins this often, and takes about `SLICE_MS` of the event loop: no renewal waits for longer. */
const TICK_MS = 20;
const SLICE_MS = 1;
const SLICE_GROUPS = 16;
/** A round over few groups begins no more often than this. */
const ROUND_MS = 1000;

export type CountedState = GroupState | "paused" | "flapping";

export class GroupMonitor {
  readonly #options: GroupMonitorOptions;
  readonly #groups = new Map<string, MonitoredGroup>();
  readonly #vacant = new Set<MonitoredGroup>();
  readonly #troubled = new Set<MonitoredGroup>();
  readonly #states: Record<CountedState, number> = {
    led: 0,
    vacant: 0,
    held_back: 0,
    idle: 0,
    paused: 0,
    flapping: 0,
  };
  readonly #findings = new Map<string, number>();
  #members = 0;
  #round = 1;
  #place = "";
  #seenInRound = 0;
  #roundStartedMs = Number.NEGATIVE_INFINITY;
  #cancelTick: CancelTimer = () => {};

  constructor(options: GroupMonitorOptions) {
    this.#options = options;
  }

  /** Begins the rounds. */
  start(): void {
    this.#planTick();
  }

  close(): void {
    this.#cancelTick();
  }

  /** `paused` and `flapping` groups are also counted in their other state. */
  get states(): Readonly<Record<CountedState, number>> {
    return this.#states;
  }

  get members(): number {
    return this.#members;
  }

  /** Of the group that has had no leader for the longest time; `null`: no group is vacant. */
  get oldestVacancySinceMs(): number | null {
    let oldest: number | null = null;
    for (const { vacantSinceMs } of this.#vacant) {
      if (vacantSinceMs !== null && (oldest === null || vacantSinceMs < oldest)) oldest = vacantSinceMs;
    }
    return oldest;
  }

  countOf(kind: Finding["kind"], severity: Severity): number {
    return this.#findings.get(keyOf({ kind, severity })) ?? 0;
  }

  /** The findings about groups, in no order. */
  *findings(): Generator<Finding> {
    for (const { findings } of this.#troubled) yield* findings;
  }

  /** Whether groups are led, vacant groups first. */
  *presence(): Generator<readonly [groupId: string, isLed: boolean]> {
    for (const { groupId } of this.#vacant) yield [groupId, false];
    for (const group of this.#groups.values())
      if (!this.#vacant.has(group)) yield [group.groupId, group.state === "led"];
  }

  /** Each event of the watch over all groups, in its order. */
  follow(event: WatchEvent): void {
    const { clock, inspector, onChange } = this.#options;
    const group = this.#obtain(event.groupId);
    onChange(event, group.follow(event, clock.monotonicMs(), Math.round(clock.wallMs())));
    // Thousands of states arrive together, and may need their histories: the next round looks at them in slices.
    if (event.type !== "RESYNC") this.#examine(group, inspector.group(event.groupId));
  }

  #obtain(groupId: string): MonitoredGroup {
    let group = this.#groups.get(groupId);
    if (group === undefined) {
      group = new MonitoredGroup(groupId, Math.round(this.#options.clock.wallMs()));
      group.round = this.#round;
      this.#groups.set(groupId, group);
      this.#count(group, 1);
    }
    return group;
  }

  #examine(group: MonitoredGroup, sight: InspectedGroup | null): void {
    if (sight === null) return this.#remove(group);
    group.round = this.#round;
    this.#count(group, -1);
    const before = group.examine(sight, Math.round(this.#options.clock.wallMs()));
    this.#count(group, 1);
    if (before.length > 0 || group.findings.length > 0)
      reportChanges(before, group.findings, this.#options.onFinding);
  }

  #remove(group: MonitoredGroup): void {
    if (!this.#groups.delete(group.groupId)) return;
    this.#count(group, -1);
    reportChanges(group.findings, [], this.#options.onFinding);
  }

  #count(group: MonitoredGroup, by: 1 | -1): void {
    this.#states[group.state] += by;
    if (group.isPaused) this.#states.paused += by;
    if (group.isFlapping) this.#states.flapping += by;
    this.#members += by * group.members;
    change(this.#vacant, group, by === 1 && group.state === "vacant");
    change(this.#troubled, group, by === 1 && group.findings.length > 0);
    for (const finding of group.findings) {
      const key = keyOf(finding);
      this.#findings.set(key, (this.#findings.get(key) ?? 0) + by);
    }
  }

  /** The next slice of this round, or the first slice of the next one. */
  #planTick(): void {
    const { clock } = this.#options;
    const restMs = this.#place === "" ? this.#roundStartedMs + ROUND_MS - clock.monotonicMs() : 0;
    this.#cancelTick = clock.after(Math.max(TICK_MS, restMs), () => {
      this.#slice();
      this.#planTick();
    });
  }

  #slice(): void {
    const { clock, inspector } = this.#options;
    const startedMs = clock.monotonicMs();
    if (this.#place === "") this.#beginRound(startedMs);
    do {
      const { groups, last } = inspector.after(this.#place, SLICE_GROUPS);
      for (const sight of groups) {
        this.#examine(this.#obtain(sight.group.groupId), sight);
        this.#seenInRound++;
      }
      this.#place = last ?? "";
      if (last === null) return this.#endRound();
    } while (clock.monotonicMs() - startedMs < SLICE_MS);
  }

  #beginRound(nowMs: number): void {
    this.#roundStartedMs = nowMs;
    this.#round++;
    this.#seenInRound = 0;
  }

  /** A group that a round did not meet was deleted. */
  #endRound(): void {
    if (this.#seenInRound >= this.#groups.size) return;
    for (const group of this.#groups.values()) if (group.round < this.#round) this.#remove(group);
  }
}

function change<T>(set: Set<T>, item: T, isIn: boolean): void {
  if (isIn) set.add(item);
  else set.delete(item);
}

function keyOf({ kind, severity }: Pick<Finding, "kind" | "severity">): string {
  return `${kind} ${severity}`;
}
