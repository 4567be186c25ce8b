/** The attacks of hostile clients. They run on loopback, and their number is limited by `count`. */
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { type ClientHttp2Session, connect as connectHttp2 } from "node:http2";
import type { AttackName } from "./messages.test-kit.js";
import type { Target } from "./target.test-kit.js";

/** Calls `attacking` when the attack is in progress; resolves when it is over. */
type Attack = (target: Target, count: number, attacking: () => void) => Promise<void>;

const WATCHES_AT_ONCE = 1000;
const BETWEEN_MS = 20;

export const attacks: Readonly<Record<AttackName, Attack>> = {
  "silent-sockets": (...args) => silentSockets(...args),
  "stalled-handshakes": (...args) => silentSockets(...args, HALF_HELLO),
  watches,
  "open-watches": openWatches,
  snapshots,
  garbage,
  reconnects,
  "deaf-readers": deafReaders,
  "refused-campaigns": refusedCampaigns,
  "bad-tokens": badTokens,
};

/** The head of a TLS record that announces more bytes than follow. */
const HALF_HELLO = Buffer.from("16030102000100", "hex");

/**
 * Connections to the TLS port that send nothing, or no more than `first`; a closed connection is replaced by another.
 */
async function silentSockets(
  target: Target,
  count: number,
  attacking: () => void,
  first?: Buffer,
): Promise<void> {
  const fill = async (): Promise<void> => {
    while (!target.isOver) {
      const socket = await target.socket();
      if (socket === null) {
        target.count("refused");
        await target.pause(BETWEEN_MS);
        continue;
      }
      // Without a reader the end of the connection would not be noticed.
      socket.resume();
      if (first !== undefined) socket.write(first);
      await Promise.race([once(socket, "close"), target.over()]);
      if (!target.isOver) target.count("closed by the service");
    }
  };
  const filled = Array.from({ length: count }, fill);
  while (!target.isOver && (target.counts["connections"] ?? 0) < count) await target.pause(BETWEEN_MS);
  attacking();
  await Promise.all(filled);
}

/** Repeatedly opens `count` watches, a thousand at a time, then disconnects all that are open at once. */
async function watches(target: Target, count: number, attacking: () => void): Promise<void> {
  attacking();
  for (let round = 0; !target.isOver; round++) {
    const open: IncomingMessage[] = [];
    for (let from = 0; from < count && !target.isOver; from += WATCHES_AT_ONCE) {
      const stream = await openStream(target, round, from, Math.min(WATCHES_AT_ONCE, count - from));
      if (stream === null) await target.pause(BETWEEN_MS);
      else open.push(stream);
    }
    for (const stream of open) stream.destroy();
    target.count("hung up on all");
    await target.pause(BETWEEN_MS);
  }
}

/** Opens `count` watches as fast as the rate limit allows, and disconnects all at once when the attack is over. */
async function openWatches(target: Target, count: number, attacking: () => void): Promise<void> {
  const open: IncomingMessage[] = [];
  for (let from = 0; from < count && !target.isOver;) {
    const stream = await openStream(target, 0, from, Math.min(WATCHES_AT_ONCE, count - from));
    if (stream === null) {
      await target.pause(BETWEEN_MS);
      continue;
    }
    open.push(stream);
    from += WATCHES_AT_ONCE;
  }
  attacking();
  await target.over();
  for (const stream of open) stream.destroy();
}

/** `null` if it was refused. */
async function openStream(
  target: Target,
  round: number,
  from: number,
  count: number,
): Promise<IncomingMessage | null> {
  const ids = Array.from({ length: count }, (_, index) => from + index);
  const stream = await target.ask({
    method: "POST",
    path: "/v1/watch",
    token: target.options.observerToken,
    headers: { accept: "text/event-stream" },
    body: { watches: ids.map((id) => ({ group_id: `watched-${round}-${id}` })) },
  });
  stream?.resume();
  if (stream?.statusCode !== 200) return null;
  target.count("watches", ids.length);
  return stream;
}

/** Many concurrent requests for the state of every group. */
async function snapshots(target: Target, count: number, attacking: () => void): Promise<void> {
  const { observerToken: token } = target.options;
  const paths = ["/v1/watch?timeout_ms=0", "/v1/watch?timeout_ms=1000", "/v1/groups?limit=1000"];
  const poll = async (index: number): Promise<void> => {
    const path = paths[index % paths.length] ?? "";
    while (!target.isOver) {
      const before = target.counts["answered 200"] ?? 0;
      await target.askAndRead({ path, token });
      // A refused client comes back soon, but not at once.
      if ((target.counts["answered 200"] ?? 0) === before) await target.pause(BETWEEN_MS);
    }
  };
  attacking();
  await Promise.all(Array.from({ length: count }, (_, index) => poll(index)));
}

const MALFORMED: readonly string[] = [
  "\u0000\u0001\u0002\u0003 garbage\r\n\r\n",
  "GET / HTTP/9.9\r\n\r\n",
  "GET /v1/groups HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
  `GET /${"x".repeat(40_000)} HTTP/1.1\r\nHost: a\r\n\r\n`,
  "POST /v1/renew HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
  "POST /v1/renew HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{]",
  "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
];

/**
 * Malformed requests inside TLS, bytes that are not TLS, slow bodies, and nonsense over gRPC; a limited rate of each.
 */
async function garbage(target: Target, count: number, attacking: () => void): Promise<void> {
  const { place } = target.options;
  const malformed = async (): Promise<void> => {
    for (let index = 0; !target.isOver; index++) {
      const socket = await target.tls();
      socket?.resume().write(MALFORMED[index % MALFORMED.length] ?? "", "latin1");
      if (socket !== null) target.count("malformed requests");
      await target.pause(5 * BETWEEN_MS);
      socket?.destroy();
    }
  };
  const noTls = async (port: number): Promise<void> => {
    while (!target.isOver) {
      const socket = await target.socket(port);
      socket?.resume().write(Buffer.alloc(512, 0xa5));
      if (socket !== null) target.count("bytes that are no TLS");
      await target.pause(5 * BETWEEN_MS);
      socket?.destroy();
    }
  };
  const dripping = async (): Promise<void> => {
    const socket = await target.tls();
    const head =
      "POST /v1/renew HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 60000\r\n\r\n";
    socket?.resume().write(head);
    while (!target.isOver && socket !== null && socket.writable) {
      socket.write(" ");
      target.count("dripped bytes");
      await target.pause(10 * BETWEEN_MS);
    }
  };
  const each = Math.ceil(count / 4);
  const all = [
    ...Array.from({ length: each }, malformed),
    ...Array.from({ length: each }, () => noTls(place.port)),
    ...Array.from({ length: each }, dripping),
    ...Array.from({ length: each }, () => senselessCalls(target)),
  ];
  attacking();
  await Promise.all(all);
}

/** Valid HTTP/2 frames without a gRPC message. */
async function senselessCalls(target: Target): Promise<void> {
  const { grpcPort, ca } = target.options.place;
  while (!target.isOver) {
    const session: ClientHttp2Session = connectHttp2(`https://127.0.0.1:${grpcPort}`, { ca });
    session.on("error", () => {});
    const stream = session.request({ ":method": "POST", ":path": "/tenure.v1.Election/Campaign" });
    stream.on("error", () => {}).resume();
    stream.end(Buffer.from([0, 0xff, 0xff, 0xff, 0xff, 1, 2, 3]));
    target.count("senseless calls");
    await target.pause(5 * BETWEEN_MS);
    session.destroy();
  }
}

/** TLS handshakes without requests, a hundred a second in total. */
async function reconnects(target: Target, count: number, attacking: () => void): Promise<void> {
  const again = async (): Promise<void> => {
    while (!target.isOver) {
      const socket = await target.tls();
      socket?.destroy();
      await target.pause((count * 1000) / 100);
    }
  };
  attacking();
  await Promise.all(Array.from({ length: count }, again));
}

/** Streams whose reader reads nothing, while the groups they follow change leaders. */
async function deafReaders(target: Target, count: number, attacking: () => void): Promise<void> {
  const { observerToken, nodeToken } = target.options;
  const headers = { accept: "text/event-stream" };
  for (let index = 0; index < count && !target.isOver; index++) {
    const path = index % 2 === 0 ? "/v1/watch" : "/v1/groups/mallory%2Fchurn/watch";
    const stream = await target.ask({ path, token: observerToken, headers });
    stream?.pause();
  }
  attacking();
  const node = { node_id: "mallory" };
  for (let term = 1; !target.isOver; term++) {
    const path = "/v1/groups/mallory%2Fchurn";
    const campaign = { method: "POST", path: `${path}/campaign`, token: nodeToken } as const;
    await target.askAndRead({ ...campaign, body: { ...node, lease_ttl_ms: 5000 } });
    await target.askAndRead({ ...campaign, path: `${path}/resign`, body: { ...node, term } });
    await target.pause(BETWEEN_MS);
  }
}

/** Campaigns that no rule allows: in others' groups, in others' names, with impossible leases. */
async function refusedCampaigns(target: Target, count: number, attacking: () => void): Promise<void> {
  const { nodeToken: token } = target.options;
  const again = async (first: number): Promise<void> => {
    for (let index = first; !target.isOver; index += count) {
      const [group, node_id, lease_ttl_ms] = [
        [`foreign-${index}`, "mallory", 5000],
        [`mallory/${index}`, "honest", 5000],
        [`mallory/${index}`, "mallory", 1],
        ["honest-0", "mallory", 5000],
      ][index % 4] as [string, string, number];
      const path = `/v1/groups/${encodeURIComponent(group)}/campaign`;
      await target.askAndRead({
        method: "POST",
        path,
        token,
        body: { node_id, lease_ttl_ms, metadata: { index } },
      });
      await target.pause(BETWEEN_MS);
    }
  };
  attacking();
  await Promise.all(Array.from({ length: count }, (_, index) => again(index)));
}

/** Tokens that look valid and are not: each must be verified to be refused. */
async function badTokens(target: Target, count: number, attacking: () => void): Promise<void> {
  const { observerToken } = target.options;
  const [header, claims] = observerToken.split(".");
  const again = async (first: number): Promise<void> => {
    for (let index = first; !target.isOver; index += count) {
      const signature = Buffer.alloc(64, index).toString("base64url");
      await target.askAndRead({ path: "/v1/whoami", token: `${header}.${claims}.${signature}` });
      await target.pause(BETWEEN_MS);
    }
  };
  attacking();
  await Promise.all(Array.from({ length: count }, (_, index) => again(index)));
}
