/** One group, read for as long as its page is open: the group every second, members every three, history at each change. */
import type {
  Group,
  HistoryEvent,
  HistoryPage,
  LeadershipEvent,
  MemberHealth,
  OperatorAct,
} from "../model/wire.js";
import { groupPath, RefusedError } from "./api.js";
import type { Dashboard } from "./dashboard.js";

const GROUP_MS = 1000;
/** In periods of the group. */
const MEMBERS_EVERY = 3;
const HISTORY_EVERY = 15;

export class GroupDetail {
  group: Group | null = null;
  members: readonly MemberHealth[] = [];
  history: readonly HistoryEvent[] = [];
  acts: readonly OperatorAct[] = [];
  /** Nobody has created or used the group, or it was deleted. */
  isMissing = false;
  /** Why nothing is shown, where the group may not be seen. */
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
      [this.refusal, this.isMissing] = [null, false];
      board.applyGroup(this.group, this.#dashboard.serverMs());
      if (wasOld) {
        const { events, acts } = await api.get<HistoryPage>(groupPath(this.#groupId, "/history"));
        [this.history, this.acts] = [events, acts];
      }
      if (wasOld || this.#turn % MEMBERS_EVERY === 0) {
        const path = groupPath(this.#groupId, "/health");
        this.members = (await api.get<{ members: MemberHealth[] }>(path)).members;
        board.applyMembers(
          this.#groupId,
          this.members.filter(({ state }) => state !== "down").map(({ node_id }) => node_id),
        );
      }
      this.#turn++;
    } catch (error) {
      // A read that failed is made up for: at the next turn everything is read.
      this.#turn = 0;
      if (error instanceof RefusedError) {
        this.isMissing = error.status === 404;
        if (this.isMissing) board.remove(this.#groupId);
        this.refusal = error.status === 403 ? error.message : null;
      }
    }
    this.#changed();
  }
}
