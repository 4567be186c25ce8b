/**
 * What the watch does not tell, read by asking: leases of the rows on the screen every second, in at most six requests;
 * all groups in turn, a page a second; members of visible rows, eight a second, each at most every ten.
 */
import type { GroupBoard } from "../model/group-board.js";
import { planRefresh } from "../model/refresh-plan.js";
import type { GroupsPage, Member } from "../model/wire.js";
import { type Api, groupPath } from "./api.js";

const MAX_PAGES = 6;
const MAX_MEMBERS = 8;
const MEMBERS_MS = 10_000;
const WALK_LIMIT = 250;
const LOAD_LIMIT = 1000;

export interface RefresherParts {
  readonly api: Pick<Api, "get">;
  readonly board: GroupBoard;
  readonly serverMs: () => number;
  readonly changed: () => void;
}

export class Refresher {
  /** The ids of what is on the screen. */
  visible: readonly string[] = [];
  readonly #parts: RefresherParts;
  readonly #membersAskedMs = new Map<string, number>();
  #turn = 0;
  #walkAfter: string | null = null;

  constructor(parts: RefresherParts) {
    this.#parts = parts;
  }

  /** All groups, as fast as they come. */
  async load(): Promise<void> {
    for (let after: string | null = null; ;) {
      after = await this.#page(after, LOAD_LIMIT);
      if (after === null) return;
    }
  }

  async refresh(): Promise<void> {
    const { board } = this.#parts;
    const { ids } = board;
    const shown = this.visible;
    const pages = planRefresh(ids, placesOf(ids, shown), MAX_PAGES, this.#turn++);
    for (const { after, limit } of pages) await this.#page(after, limit);
    this.#walkAfter = await this.#page(this.#walkAfter, WALK_LIMIT);
    await this.#members(shown);
  }

  async #page(after: string | null, limit: number): Promise<string | null> {
    const { api, board, serverMs, changed } = this.#parts;
    const query = after === null ? "" : `&cursor=${encodeURIComponent(after)}`;
    const askedAtMs = serverMs();
    const { groups, cursor } = await api.get<GroupsPage>(`/v1/groups?limit=${limit}${query}`);
    board.applyPage(groups, after, cursor, askedAtMs);
    changed();
    return cursor;
  }

  async #members(shown: readonly string[]): Promise<void> {
    const { api, board, serverMs, changed } = this.#parts;
    const nowMs = serverMs();
    const due = shown.filter((id) => nowMs - (this.#membersAskedMs.get(id) ?? 0) >= MEMBERS_MS);
    await Promise.all(
      due.slice(0, MAX_MEMBERS).map(async (id) => {
        this.#membersAskedMs.set(id, nowMs);
        const { members } = await api.get<{ members: readonly Member[] }>(groupPath(id, "/members"));
        board.applyMembers(
          id,
          members.map(({ node_id }) => node_id),
        );
      }),
    );
    if (due.length > 0) changed();
  }
}

/** Where each id is in the sorted list, rising. */
function placesOf(ids: readonly string[], wanted: readonly string[]): readonly number[] {
  const isWanted = new Set(wanted);
  const places: number[] = [];
  ids.forEach((id, place) => {
    if (isWanted.has(id)) places.push(place);
  });
  return places;
}
