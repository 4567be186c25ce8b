/** Many watchers of one group on plain sockets: how long until all of them have been told. */
import { connect, type Socket } from "node:net";
import { once } from "node:events";
import { answerOwner } from "./child.js";

export type WatchersQuestion =
  | { readonly kind: "connect"; readonly port: number; readonly group: string; readonly count: number }
  /** Asked before the change: answered when each watcher has been told of it. */
  | { readonly kind: "told"; readonly type: "LEADER_CHANGED" | "LEADER_LOST"; readonly term: number };

/** On the monotonic clock, which processes of one machine share. */
export interface WatchersAnswer {
  readonly firstMs: number;
  readonly lastMs: number;
}

interface Watcher {
  readonly socket: Socket;
  text: string;
}

const watchers: Watcher[] = [];
/** Connections being opened at a time: a burst of all would overflow the backlog of the service. */
const OPENING = 100;

answerOwner<WatchersQuestion, WatchersAnswer>(async (question) => {
  if (question.kind === "told") return told(`"type":"${question.type}"`, `"term":${question.term},`);
  const { port, group, count } = question;
  for (let from = 0; from < count; from += OPENING) {
    const sockets = Array.from({ length: Math.min(OPENING, count - from) }, () => open(port, group));
    const opened = await Promise.all(sockets);
    for (const socket of opened) watchers.push({ socket, text: "" });
  }
  return { firstMs: 0, lastMs: nowMs() };
});

/** Resolves when the service has told it the present state. */
async function open(port: number, group: string): Promise<Socket> {
  const socket = connect({ host: "127.0.0.1", port });
  const path = `/v1/groups/${encodeURIComponent(group)}/watch`;
  socket.write(`GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\naccept: text/event-stream\r\n\r\n`);
  for (let text = ""; !text.includes("data: ");) {
    const [chunk] = (await once(socket, "data")) as [Buffer];
    text += chunk.toString("latin1");
    if (!text.startsWith("HTTP/1.1 200 ")) throw new Error(`a watch was answered ${text}`);
  }
  return socket;
}

function told(...marks: readonly string[]): Promise<WatchersAnswer> {
  return new Promise((resolve) => {
    let left = watchers.length;
    let firstMs = Number.POSITIVE_INFINITY;
    for (const watcher of watchers) {
      watcher.text = "";
      watcher.socket.removeAllListeners("data").on("data", (chunk) => {
        watcher.text += chunk.toString("latin1");
        if (!marks.every((mark) => watcher.text.includes(mark))) return;
        watcher.socket.removeAllListeners("data");
        firstMs = Math.min(firstMs, nowMs());
        if (--left === 0) resolve({ firstMs, lastMs: nowMs() });
      });
    }
  });
}

function nowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
