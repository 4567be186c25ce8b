import { sleep } from "@tenure/core";
import { LinkedController } from "@tenure/core/internal";
import type { Command } from "commander";
import { EXIT, type ExitCode, type OutputFlags, type Shell } from "../frame/shell.js";
import { ClockOffset } from "../frame/clock-offset.js";
import type { Connection, ConnectionFlags, Target } from "../frame/connection.js";
import { tellTime } from "../frame/duration.js";
import { durationOption, electorCommand, withExamples } from "../frame/elector-command.js";
import { probe } from "../frame/http-probe.js";
import { Collector } from "./collector.js";
import { draw, drawPlain, roomOf, type Screen } from "./draw.js";
import { arranged, FIRST_VIEW, pressed, type View, within } from "./state.js";
import { Terminal } from "./terminal.js";

interface TopFlags extends ConnectionFlags, OutputFlags {
  readonly interval: number;
}

/** Interval between two frames: the bars of the leases shrink between two refreshes. */
const FRAME_MS = 250;
/** The number of groups whose history and members are requested at each refresh. */
const DETAILS_AT_ONCE = 100;
const MIN_INTERVAL_MS = 250;

export function topCommand(shell: Shell): Command {
  const command = electorCommand(shell, "top", "Show all groups, live; without a terminal, print them once")
    .addOption(durationOption("--interval <duration>", "refresh interval", "1s"))
    .action((flags: TopFlags) => shell.connected(flags, (connection) => top(shell, connection, flags)));
  return withExamples(
    command,
    "tenure top",
    "tenure top --server https://tenure.example:7420 --interval 2s",
    "tenure top | head",
  );
}

async function top(shell: Shell, connection: Connection, flags: TopFlags): Promise<ExitCode> {
  const offset = new ClockOffset();
  const ending = new LinkedController(shell.signal);
  const collector = new Collector({
    elector: connection.elector,
    clock: shell.clock,
    target: nameOf(connection.target),
    signal: ending.signal,
    offsetMs: () => offset.offsetMs ?? 0,
  });
  const look = async (): Promise<void> => {
    await Promise.all([collector.refresh(), compareClocks(offset, connection.target, ending.signal)]);
  };
  const isLive = shell.isInteractive && !shell.isJson;
  if (!isLive) return once(shell, connection, collector, look);
  const intervalMs = Math.max(MIN_INTERVAL_MS, flags.interval);
  await new LiveTop({ shell, collector, look, intervalMs, ending }).run();
  return EXIT.done;
}

async function once(
  shell: Shell,
  { elector }: Connection,
  collector: Collector,
  look: () => Promise<void>,
): Promise<ExitCode> {
  // Fails here, with the same message as every command, if the server or the store does not answer.
  await elector.ping({ signal: shell.signal });
  await look();
  await collector.detail(
    collector.rows().map(({ groupId }) => groupId),
    Number.POSITIVE_INFINITY,
  );
  const screen = screenOf(shell, collector, FIRST_VIEW);
  const groups = arranged(screen.rows, FIRST_VIEW).map((row) => ({
    group_id: row.groupId,
    leader_node_id: row.leader,
    term: row.term,
    lease_left_ms: row.leftMs === null ? null : Math.round(row.leftMs),
    changes_per_hour: row.changesPerHour,
    members: row.members,
    paused: row.isPaused,
    held_back: row.isHeldBack,
  }));
  shell.say({ store_round_trip_ms: screen.health.roundTripMs, groups }, ...drawPlain(screen));
  return EXIT.done;
}

function screenOf(shell: Shell, collector: Collector, view: View): Screen {
  const rows = collector.rows();
  return { rows, view, health: collector.health, time: tellTime(shell.clock.wallMs()) };
}

interface LiveTopDeps {
  readonly shell: Shell;
  readonly collector: Collector;
  readonly look: () => Promise<void>;
  readonly intervalMs: number;
  /** Aborted when the user quits; requests in flight end with it. */
  readonly ending: AbortController;
}

/** Refreshes repeatedly, and draws whenever something has changed. */
class LiveTop {
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
    const { shell, collector, look, intervalMs } = this.#deps;
    while (!ending.aborted) {
      await look();
      this.#draw();
      const names = arranged(collector.rows(), this.#view).map(({ groupId }) => groupId);
      // The groups on the screen first, then the others.
      const seen = names.slice(this.#view.offset, this.#view.offset + this.#terminal.size.rows);
      await collector.detail([...seen, ...names], DETAILS_AT_ONCE);
      this.#draw();
      await sleep(shell.clock, intervalMs, ending);
    }
  }

  async #keepDrawing(ending: AbortSignal): Promise<void> {
    while (!ending.aborted) {
      await sleep(this.#deps.shell.clock, FRAME_MS, ending);
      this.#draw();
    }
  }

  #press(key: string): void {
    const next = pressed(this.#view, key);
    if (next === "quit") return this.#deps.ending.abort();
    const { length } = arranged(this.#deps.collector.rows(), next);
    this.#view = within(next, length, roomOf(this.#terminal.size));
    this.#draw();
  }

  #draw(): void {
    const { shell, collector } = this.#deps;
    const screen = screenOf(shell, collector, this.#view);
    this.#terminal.show(draw(screen, this.#terminal.size, shell.paint));
  }
}

/** Leases end by the server's clock. Without its offset only the bars are drawn wrong, so a failure is ignored. */
async function compareClocks(offset: ClockOffset, target: Target, signal: AbortSignal): Promise<void> {
  if (target.kind === "store") return;
  const [endpoint = ""] = target.endpoints;
  await probe(`${endpoint.replace(/\/$/, "")}/healthz`, { ...target.access, signal }).then(
    (probed) => offset.take(probed),
    () => {},
  );
}

/** A store's URL may contain a password, so it is not shown as it is. */
function nameOf(target: Target): string {
  if (target.kind === "server") return target.endpoints.join(",");
  return target.url.replace(/\/\/[^/?#@]*@/, "//");
}
