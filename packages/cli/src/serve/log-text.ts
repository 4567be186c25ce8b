/** The log of `tenure serve` for people: each JSON line as one line of text, or several at the start of the server. */
import type { Colour, Paint } from "../frame/text.js";

type Fields = Readonly<Record<string, unknown>>;
type EventFields = Readonly<Record<string, string | number | undefined>>;

/** By the numbers of pino. Lines of other levels have no label. */
const LABELS: Readonly<Record<number, readonly [label: string, colour: Colour]>> = {
  40: ["warning: ", "yellow"],
  50: ["error: ", "red"],
  60: ["error: ", "red"],
};

/** Events of the server that have their own text. Their fields are texts and numbers. */
const EVENTS: Readonly<Record<string, (fields: EventFields) => readonly string[]>> = {
  started: ({ url, docs_url, grpc, store, directory, auth }) => [
    `Dashboard: ${url}/`,
    `API docs: ${docs_url}`,
    ...(grpc === undefined ? [] : [`gRPC: ${grpc}`]),
    `Store: ${store}${directory === undefined ? "" : ` in ${directory}`}`,
    `Authentication: ${auth === "none" ? "none; every caller that can reach this server is an admin" : auth}`,
  ],
  stopping: ({ requests, watches, waiting_campaigns }) => [
    requests === 0
      ? "stopping"
      : `stopping: answering ${count(requests, "request")} in flight (${count(watches, "watch", "watches")}, ${count(waiting_campaigns, "waiting campaign")})`,
  ],
  stopped: () => ["stopped"],
};

/** What every line has, or what its text already says. */
const SHOWN: ReadonlySet<string> = new Set(["level", "time", "msg", "event", "audit"]);

/** The lines of text for one line of JSON, each with a line feed. */
export function logText(line: string, paint: Paint): string {
  const fields = JSON.parse(line) as Fields;
  return linesOf(fields, paint)
    .map((each) => `${each}\n`)
    .join("");
}

function linesOf(fields: Fields, paint: Paint): readonly string[] {
  const { level, time, msg, event, audit } = fields;
  const own = audit === true ? undefined : EVENTS[String(event)];
  if (own !== undefined) return own(fields as EventFields).map(printable);
  const [label, colour] =
    audit === true ? (["audit: ", "dim"] as const) : (LABELS[Number(level)] ?? ["", "dim"]);
  const details = Object.entries(fields)
    .filter(([key, value]) => !SHOWN.has(key) && value !== null && value !== undefined)
    .map(([key, value]) => `${key}: ${valueText(value)}`);
  const more = details.length === 0 ? "" : ` (${details.join(", ")})`;
  return [`${paint("dim", clockOf(time))} ${paint(colour, label)}${printable(`${String(msg)}${more}`)}`];
}

function valueText(value: unknown): string {
  if (typeof value !== "object" || value === null) return String(value);
  // An error of pino has its stack, which is of use in JSON only.
  const { message, stack } = value as { readonly message?: unknown; readonly stack?: unknown };
  return typeof stack === "string" ? String(message) : JSON.stringify(value);
}

/** Callers choose parts of what is logged, and must not be able to move the cursor of a terminal or to forge a line. */
function printable(text: string): string {
  return text.replaceAll(
    // oxlint-disable-next-line no-control-regex -- these are what it is about
    /[\u0000-\u001F\u007F-\u009F\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

function clockOf(time: unknown): string {
  const date = new Date(Number(time));
  return [date.getHours(), date.getMinutes(), date.getSeconds()]
    .map((part) => String(part).padStart(2, "0"))
    .join(":");
}

function count(value: number | string | undefined, one: string, many = `${one}s`): string {
  return `${value} ${value === 1 ? one : many}`;
}
