/**
 * All groups, as pages and watch tell of them. Rows are replaced, never changed, so whoever draws one can tell by
 * identity whether it is the same.
 */
import { emptyRow, type GroupRow, holdAfter, type Trouble, withGroup } from "./group-row.js";
import type { Group, LeadershipEvent } from "./wire.js";

/** Clocks of page and service are known to about this. */
const MARGIN_MS = 2000;

export class GroupBoard {
  readonly #rows = new Map<string, GroupRow>();
  #listed: readonly string[] | null = null;
  #troubled: readonly string[] = [];

  row(groupId: string): GroupRow | undefined {
    return this.#rows.get(groupId);
  }

  /** In order of id, as the service pages them. */
  get ids(): readonly string[] {
    this.#listed ??= [...this.#rows.values()]
      .filter(({ isListed }) => isListed)
      .map(({ groupId }) => groupId)
      .sort((a, b) => (a < b ? -1 : 1));
    return this.#listed;
  }

  /** Of what is older than what is known, nothing is believed. */
  applyEvent({ group_id, term, leader_node_id: leader, ts_ms, reason }: LeadershipEvent): void {
    const row = this.#rows.get(group_id) ?? emptyRow(group_id);
    if (term < row.term) return;
    const isSame = row.term === term && row.leader === leader;
    this.#put({
      ...row,
      leader,
      term,
      // Of a group that nobody has led yet it is only the time of the answer.
      changedAtMs: term === 0 ? null : ts_ms,
      reason,
      expiresAtMs: isSame ? row.expiresAtMs : null,
      ttlMs: isSame ? row.ttlMs : 0,
      hold: (isSame ? row.hold : null) ?? holdAfter(leader, reason, ts_ms, row.takeoverDelayMs),
      isListed: row.isListed || leader !== null,
    });
  }

  /** The groups of a page, asked for at `serverMs`: all there are after `after`, up to `until` (`null`: to the end). */
  applyPage(groups: readonly Group[], after: string | null, until: string | null, serverMs: number): void {
    const present = new Set(groups.map(({ group_id }) => group_id));
    for (const group of groups) {
      this.#put(withGroup(this.#rows.get(group.group_id) ?? emptyRow(group.group_id), group, serverMs));
    }
    for (const groupId of this.ids) {
      const isInside = (after === null || groupId > after) && (until === null || groupId <= until);
      // The watch may have told of a group that is newer than the page.
      const isNewer = (this.#rows.get(groupId)?.changedAtMs ?? 0) > serverMs - MARGIN_MS;
      if (isInside && !isNewer && !present.has(groupId)) this.remove(groupId);
    }
  }

  applyGroup(group: Group, serverMs: number): void {
    this.#put(withGroup(this.#rows.get(group.group_id) ?? emptyRow(group.group_id), group, serverMs));
  }

  /** A leader counts although it was not seen: with a long lease it gives no sign for longer than members are shown. */
  applyMembers(groupId: string, nodeIds: readonly string[]): void {
    const row = this.#rows.get(groupId);
    if (row === undefined) return;
    const isLeaderMissing = row.leader !== null && !nodeIds.includes(row.leader);
    const members = nodeIds.length + (isLeaderMissing ? 1 : 0);
    if (row.members !== members) this.#put({ ...row, members });
  }

  /** What the service's checks found, group by group; a group that is not named has no trouble. */
  applyTroubles(troubles: ReadonlyMap<string, Trouble>): void {
    for (const groupId of new Set([...this.#troubled, ...troubles.keys()])) {
      const row = this.#rows.get(groupId);
      const trouble = troubles.get(groupId) ?? null;
      if (row !== undefined && row.trouble !== trouble) this.#put({ ...row, trouble });
    }
    this.#troubled = [...troubles.keys()];
  }

  /** Its term survives, so a late event of it is still told apart from a new one. */
  remove(groupId: string): void {
    const row = this.#rows.get(groupId);
    if (row !== undefined) this.#put({ ...emptyRow(groupId), term: row.term });
  }

  #put(row: GroupRow): void {
    if (this.#rows.get(row.groupId)?.isListed !== row.isListed) this.#listed = null;
    this.#rows.set(row.groupId, row);
  }
}
