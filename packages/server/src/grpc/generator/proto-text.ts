/**
 * The text of `tenure.proto`. Fields keep the numbers that the file already gives them; nothing else holds numbers. A new field gets
 * the next free number of its message, and a field that disappears leaves its number and name reserved.
 */
import { isUnary, type StreamVerb, type Verb, VERB_NAMES, VERBS } from "@tenure/api";
import { replyShape, requestShape } from "../message-shapes.js";
import { type Message, Messages, type Shape } from "./messages.js";
import { OPENING, SERVICES } from "./opening.js";
import type { ProtoRegistry, RegisteredMessage } from "./proto-registry.js";

const MAX_COLUMNS = 120;

export interface Method {
  /** `Service/Method`. */
  readonly rpc: string;
  readonly comment: string;
  readonly request: Shape;
  readonly reply: Shape;
  readonly isStream: boolean;
}

/** Every method of the table of verbs. */
export function methodsOfVerbs(): readonly Method[] {
  return VERB_NAMES.flatMap((name) => {
    const { rpc, answers, access, summary, description }: Verb = VERBS[name];
    if (rpc === null) return [];
    const verb = isUnary(name) ? name : (name as StreamVerb);
    const isStream = answers === "stream";
    // The descriptions of streams are about HTTP; those of their messages are in message-shapes.ts.
    const more = isStream || description === undefined ? "" : ` ${description}`;
    return {
      rpc,
      comment: `${summary}.${more}${access === "admin" ? " Only for admins." : ""}`,
      request: requestShape(verb),
      reply: replyShape(verb),
      isStream,
    };
  });
}

export function protoText(methods: readonly Method[], registry: ProtoRegistry): string {
  const messages = new Messages();
  const rpcs = methods.map((method) => {
    const [service = "", name = ""] = method.rpc.split("/");
    const request = messages.add(method.request, method.request.title ?? `${name}Request`);
    const reply = messages.add(method.reply, method.reply.title ?? `${name}Response`);
    const before = registry.methods.get(method.rpc) ?? [request, reply];
    checkSame(`request of ${method.rpc}`, before[0], request);
    checkSame(`response of ${method.rpc}`, before[1], reply);
    const returned = method.isStream ? `stream ${reply}` : reply;
    const lines = [...comment(method.comment, "  "), `  rpc ${name}(${request}) returns (${returned});`];
    return { service, name, lines };
  });
  const names = rpcs.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined)
    throw new Error(`two methods are named ${twice}; their messages would be the same`);
  const services = Object.entries(SERVICES).map(([service, about]) => [
    ...comment(about, ""),
    `service ${service} {`,
    ...rpcs.filter((each) => each.service === service).flatMap(({ lines }) => lines),
    "}",
  ]);
  const blocks = [...messages.all].map(([name, message]) =>
    messageLines(name, message, registry.messages.get(name)),
  );
  const opening = [...OPENING.map((line) => `// ${line}`.trimEnd()), 'syntax = "proto3";'];
  const all = [opening, ["package tenure.v1;"], ...services, ...blocks];
  return `${all.map((lines) => lines.join("\n")).join("\n\n")}\n`;
}

function messageLines(name: string, message: Message, before: RegisteredMessage | undefined): string[] {
  const known = before?.fields ?? new Map<string, { number: number; type: string }>();
  const gone = [...known].filter(([field]) => !message.fields.has(field));
  const reserved = [...(before?.reserved ?? []), ...gone.map(([, { number }]) => number)];
  const reservedNames = [...(before?.reservedNames ?? []), ...gone.map(([field]) => field)]
    .filter((field) => !message.fields.has(field))
    .map((field) => JSON.stringify(field));
  let next = Math.max(0, ...reserved, ...[...known.values()].map(({ number }) => number)) + 1;
  const fields = [...message.fields].map(([field, { type, isOptional, comment: about }]) => {
    const old = known.get(field);
    if (old !== undefined) checkSame(`${name}.${field}`, old.type, type);
    const number = old?.number ?? next++;
    const declared = `  ${isOptional ? "optional " : ""}${type} ${field} = ${number};`;
    return { number, lines: [...comment(about, "  "), declared] };
  });
  const inside = [
    ...(reserved.length === 0 ? [] : [`  reserved ${reserved.toSorted((a, b) => a - b).join(", ")};`]),
    ...(reservedNames.length === 0 ? [] : [`  reserved ${reservedNames.join(", ")};`]),
    ...fields.toSorted((a, b) => a.number - b.number).flatMap(({ lines }) => lines),
  ];
  const head = comment(message.comment, "");
  return inside.length === 0
    ? [...head, `message ${name} {}`]
    : [...head, `message ${name} {`, ...inside, "}"];
}

function checkSame(place: string, before: string, now: string): void {
  if (before === now) return;
  const advice =
    "Programs rely on it: use a new name for what is new, and for a message the title that it had.";
  throw new Error(`${place} is ${before} in tenure.proto and ${now} in the shapes. ${advice}`);
}

/** The text as lines of a comment. */
function comment(text: string, indent: string): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ").filter((each) => each !== "")) {
    const longer = `${lines.at(-1) ?? ""} ${word}`;
    if (lines.length > 0 && longer.length <= MAX_COLUMNS) lines.splice(-1, 1, longer);
    else lines.push(`${indent}// ${word}`);
  }
  return lines;
}
