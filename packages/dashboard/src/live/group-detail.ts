/** One group, read for as long as its page is open: the group every second, members every three, history at each change. */
import type { Group, HistoryEvent, LeadershipEvent, Member } from "../model/wire.js";
import { groupPath, RefusedError } from "./api.js";
import type { Dashboard } from "./dashboard.js";

const GROUP_MS = 1000;
/** In periods of the group. */
const MEMBERS_EVERY = 3;
const HISTORY_EVERY = 15;

export class GroupDetail {
  group: Group | null = null;
  members: readonly Member[] = [];
  history: readonly HistoryEvent[] = [];
  /** Why nothing is shown: it does not exist, or may not be seen. */
  refusal: string | null = null;
  readonly #dashboard: Dashboard;
  readonly #groupId: string;
  readonly #changed: () => void;
  #isHistoryOld = true;
  #turn = 0;

  constructor(dashboard: Dashboard, groupId: string, changed: () => void) {
    this.#dashboard = dashboard;
    this.#groupId = groupId;
    this.#changed = changed;
  }

  /** Returns what ends it. */
  start(): () => void {
    let isOver = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isRunning = false;
    const run = async (): Promise<void> => {
      clearTimeout(timer);
      isRunning = true;
      await this.#read();
      isRunning = false;
      const isBehind = this.#isHistoryOld && this.#dashboard.status.kind === "live";
      if (!isOver) timer = setTimeout(() => void run(), isBehind ? 0 : GROUP_MS);
    };
    const leave = this.#dashboard.onEvent((event: LeadershipEvent) => {
      if (event.group_id !== this.#groupId) return;
      this.#isHistoryOld = true;
      if (!isRunning) void run();
    });
    void run();
    return () => {
      isOver = true;
      clearTimeout(timer);
      leave();
    };
  }

  /** After an act: what it changed is read at once. */
  refresh(): void {
    this.#isHistoryOld = true;
    void this.#read();
  }

  async #read(): Promise<void> {
    const { api, board, status } = this.#dashboard;
    if (status.kind === "lost" || status.kind === "refused") return;
    const wasOld = this.#isHistoryOld || this.#turn % HISTORY_EVERY === 0;
    this.#isHistoryOld = false;
    try {
      this.group = await api.get<Group>(groupPath(this.#groupId));
      this.refusal = null;
      board.applyGroup(this.group, this.#dashboard.serverMs());
      if (wasOld) {
        this.history = (
          await api.get<{ events: HistoryEvent[] }>(groupPath(this.#groupId, "/history"))
        ).events;
      }
      if (wasOld || this.#turn % MEMBERS_EVERY === 0) {
        this.members = (await api.get<{ members: Member[] }>(groupPath(this.#groupId, "/members"))).members;
        board.applyMembers(this.#groupId, this.members.length);
      }
      this.#turn++;
    } catch (error) {
      // A read that failed is made up for: at the next turn everything is read.
      this.#turn = 0;
      if (error instanceof RefusedError && (error.status === 403 || error.status === 404)) {
        this.refusal = error.message;
      }
    }
    this.#changed();
  }
}
