/** What an operator may read: groups, members, history, acts. Nothing here changes a group. */
import type { Group, GroupsOptions, Member, MemberHealth } from "../elector-admin.js";
import type { GroupHistory } from "../history.js";
import type { GroupAct } from "../operator-act.js";
import { groupExists } from "../record.js";
import { actCursor, isNewer, parseActCursor } from "./act-log.js";
import { type ClocklessEngine, refuseUnknown } from "./engine.js";
import type { AuditQuery, GroupsQuery } from "./requests.js";
import { SLICE_GROUPS } from "./slices.js";
import { groupView, healthView, memberView } from "./views.js";

export class GroupReader {
  readonly #engine: ClocklessEngine;

  constructor(engine: ClocklessEngine) {
    this.#engine = engine;
  }

  async group(groupId: string): Promise<Group> {
    const group = this.#engine.obtain(groupId);
    return this.#engine.transact(
      group,
      this.#engine.existing(group, (seen, { wallMs }) => ({
        kind: "answer",
        give: () => (groupExists(seen.record) ? groupView(groupId, seen, wallMs) : refuseUnknown(groupId)),
      })),
    );
  }

  /**
   * Walks the ids in order, a slice per turn, until the page is full and one more group is known to follow. Groups that
   * the caller may not see are passed over here, so a cursor never names one.
   */
  async groups(
    { prefix, limit, cursor }: GroupsQuery,
    { maySee = () => true, signal }: GroupsOptions = {},
  ): Promise<{ groups: readonly Group[]; cursor: string | null }> {
    await this.#engine.fresh();
    const page: Group[] = [];
    let place = cursor !== null && cursor >= prefix ? cursor : prefix;
    let inclusive = place !== cursor;
    for (;;) {
      const now = await this.#engine.slices.turn();
      signal?.throwIfAborted();
      const slice = this.#engine.groups.from(place, inclusive, SLICE_GROUPS);
      for (const group of slice) {
        const { groupId, revision, record, isUnreadable } = group;
        if (!groupId.startsWith(prefix)) return { groups: page, cursor: null };
        if (revision === null || isUnreadable || record.deleted || !maySee(groupId)) continue;
        if (page.length === limit) return { groups: page, cursor: page.at(-1)?.groupId ?? null };
        page.push(groupView(groupId, group.observation(now), now.wallMs));
      }
      const last = slice.at(-1);
      if (last === undefined) return { groups: page, cursor: null };
      place = last.groupId;
      inclusive = false;
    }
  }

  async members(groupId: string): Promise<readonly Member[]> {
    const group = this.#engine.obtain(groupId);
    return this.#engine.transact(
      group,
      this.#engine.existing(group, ({ record }) => ({
        kind: "answer",
        give: () => this.#engine.members?.members(groupId).map((seen) => memberView(seen, record)) ?? [],
      })),
    );
  }

  async health(groupId: string): Promise<readonly MemberHealth[]> {
    const group = this.#engine.obtain(groupId);
    return this.#engine.transact(
      group,
      this.#engine.existing(group, ({ record }) => ({
        kind: "answer",
        give: () => this.#engine.members?.known(groupId).map((known) => healthView(known, record)) ?? [],
      })),
    );
  }

  async history(groupId: string): Promise<GroupHistory> {
    const group = this.#engine.obtain(groupId);
    return this.#engine.transact(
      group,
      this.#engine.existing(group, () => ({ kind: "answer", give: () => group.wholeHistory() })),
    );
  }

  /** Acts of groups that the caller may not see are passed over here, so a cursor never names one. */
  async audit(
    { groupId, by, limit, cursor }: AuditQuery,
    { maySee = () => true, signal }: GroupsOptions = {},
  ): Promise<{ acts: readonly GroupAct[]; cursor: string | null }> {
    await this.#engine.fresh();
    signal?.throwIfAborted();
    const before = cursor === null ? null : parseActCursor(cursor);
    const page: GroupAct[] = [];
    for (const act of groupId === null ? this.#engine.acts.newest() : this.#actsOf(groupId)) {
      if (before !== null && !isNewer(before, act)) continue;
      if ((by !== null && act.by !== by) || !maySee(act.groupId)) continue;
      const last = page.at(-1);
      if (page.length === limit && last !== undefined) return { acts: page, cursor: actCursor(last) };
      page.push(act);
    }
    return { acts: page, cursor: null };
  }

  /** Newest first. */
  #actsOf(groupId: string): readonly GroupAct[] {
    const group = this.#engine.groups.get(groupId);
    if (group === undefined) return [];
    return group
      .wholeHistory()
      .acts.map((act) => ({ groupId, ...act }))
      .sort((a, b) => (isNewer(a, b) ? -1 : 1));
  }
}
