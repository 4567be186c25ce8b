/** `tenure top` on a terminal: refreshes repeatedly, draws whenever something has changed, and obeys its keys. */
import { type ElectorAdmin, sleep } from "@tenure/core";
import { defaultOperator } from "../frame/connection.js";
import { tellTime } from "../frame/duration.js";
import type { Shell } from "../frame/shell.js";
import type { Collector } from "./collector.js";
import { draw, roomOf, type Screen } from "./draw.js";
import { type Act, arranged, FIRST_VIEW, pressed, type View, within } from "./state.js";
import { Terminal } from "./terminal.js";

export interface LiveTopDeps {
  readonly shell: Shell;
  readonly elector: ElectorAdmin;
  readonly collector: Collector;
  readonly look: () => Promise<void>;
  readonly intervalMs: number;
  /** Aborted when the user quits; requests in flight end with it. */
  readonly ending: AbortController;
}

/** Interval between two frames: the bars of the leases shrink between two refreshes. */
const FRAME_MS = 250;
/** The number of groups whose history and members are requested at each refresh. */
const DETAILS_AT_ONCE = 100;

const DONE: Readonly<Record<Act["name"], string>> = {
  pause: "paused",
  resume: "resumed",
  "step-down": "leader asked to step down",
};

export function screenOf(shell: Shell, collector: Collector, view: View): Screen {
  const { health, detail } = collector;
  return { rows: collector.rows(), view, health, detail, time: tellTime(shell.clock.wallMs()) };
}

export class LiveTop {
  readonly #deps: LiveTopDeps;
  readonly #terminal: Terminal;
  #view: View = FIRST_VIEW;

  constructor(deps: LiveTopDeps) {
    this.#deps = deps;
    this.#terminal = new Terminal(process.stdin, process.stdout, {
      key: (key) => this.#press(key),
      resized: () => this.#draw(),
    });
  }

  async run(): Promise<void> {
    const { signal } = this.#deps.ending;
    this.#terminal.open();
    try {
      this.#draw();
      await Promise.all([this.#keepLooking(signal), this.#keepDrawing(signal)]);
    } catch (error) {
      if (!signal.aborted) {
        // Ends the other loop too.
        this.#deps.ending.abort(error);
        throw error;
      }
    } finally {
      this.#terminal.close();
    }
  }

  async #keepLooking(ending: AbortSignal): Promise<void> {
    const { shell, intervalMs } = this.#deps;
    while (!ending.aborted) {
      await this.#look();
      await sleep(shell.clock, intervalMs, ending);
    }
  }

  async #look(): Promise<void> {
    const { collector, look } = this.#deps;
    await look();
    this.#draw();
    if (this.#view.groupId !== null) {
      await collector.open(this.#view.groupId);
      this.#draw();
    }
    const names = arranged(collector.rows(), this.#view).map(({ groupId }) => groupId);
    // The groups on the screen first, then the others.
    const seen = names.slice(this.#view.offset, this.#view.offset + this.#terminal.size.rows);
    await collector.details([...seen, ...names], DETAILS_AT_ONCE);
    this.#draw();
  }

  async #keepDrawing(ending: AbortSignal): Promise<void> {
    while (!ending.aborted) {
      await sleep(this.#deps.shell.clock, FRAME_MS, ending);
      this.#draw();
    }
  }

  #press(key: string): void {
    const { collector, ending } = this.#deps;
    const rows = arranged(collector.rows(), this.#view);
    const next = pressed(this.#view, key, rows[this.#view.selected]?.groupId ?? null);
    if (next === "quit") return ending.abort();
    const hasOpened = next.view.groupId !== null && next.view.groupId !== this.#view.groupId;
    const { length } = arranged(collector.rows(), next.view);
    this.#view = within(next.view, length, roomOf(this.#terminal.size));
    this.#draw();
    if (hasOpened) void this.#open(next.view.groupId ?? "");
    if (next.perform !== null) void this.#perform(next.perform);
  }

  async #open(groupId: string): Promise<void> {
    // Rejects only if the user quits meanwhile.
    await this.#deps.collector.open(groupId).catch(() => {});
    this.#draw();
  }

  async #perform(act: Act): Promise<void> {
    const message = await this.#ask(act).then(
      () => `${act.groupId}: ${DONE[act.name]}`,
      (error: unknown) => `${act.name} failed: ${(error as Error).message}`,
    );
    this.#view = { ...this.#view, message };
    await this.#look().catch(() => {});
  }

  #ask({ name, groupId, reason }: Act): Promise<void> {
    const { elector, ending } = this.#deps;
    const { signal } = ending;
    const by = defaultOperator();
    if (name === "pause") return elector.pause({ groupId, by, reason }, { signal });
    if (name === "resume") return elector.resume({ groupId, by, reason }, { signal });
    return elector.stepDown({ groupId, by, reason }, { signal });
  }

  #draw(): void {
    const { shell, collector } = this.#deps;
    const screen = screenOf(shell, collector, this.#view);
    this.#terminal.show(draw(screen, this.#terminal.size, shell.paint));
  }
}
