import { Election, type LeaseTime } from "@tenure/client";
import {
  BackendUnavailableError,
  type Elector,
  MemoryStore,
  type ResignRequest,
  StoreElector,
} from "@tenure/core";
import { VirtualClock } from "@tenure/core/testing";
import { afterEach, beforeEach, expect, it } from "vitest";
import { ApiServer } from "./api-server.test-kit.js";
import { KubernetesPods } from "./kubernetes-pods.js";
import { PodLabel } from "./pod-label.js";

const TTL_MS = 10_000;
const NEVER: LeaseTime = { leftMs: () => Number.POSITIVE_INFINITY };

let api: ApiServer;
let clock: VirtualClock;
let events: string[];
/** Requests that have not been answered. */
let open: number;
beforeEach(async () => {
  api = await ApiServer.open("a", "b", "c");
  clock = new VirtualClock();
  events = [];
  open = 0;
});
afterEach(() => api.close());

function labelOf(podName: string): PodLabel {
  const pods = new KubernetesPods({
    env: api.env,
    credentials: api.directory,
    requestLimitMs: 60_000,
    clock,
  });
  return new PodLabel({
    pods: counted(pods),
    podName,
    key: "tenure-leader",
    value: "g",
    checkEveryMs: 5000,
    graceMs: 600_000,
    clock,
    report: {
      labelled: (term) => events.push(`labelled ${term}`),
      removed: (pod) => events.push(`removed from ${pod}`),
      failed: ({ message }) => events.push(message),
    },
  });
}

function counted(pods: KubernetesPods): KubernetesPods {
  return new Proxy(pods, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      return async (...args: unknown[]) => {
        open++;
        return (value.apply(target, args) as Promise<unknown>).finally(() => open--);
      };
    },
  });
}

/** Time passes only while no request is on its way: a request takes real time, and its limit is in virtual time. */
async function passUntil(isDone: () => boolean, stepMs: number): Promise<void> {
  while (!isDone()) await clock.advance(open === 0 ? stepMs : 0);
}

async function reported(event: string): Promise<void> {
  while (!events.includes(event)) await clock.advance(0);
}

function mandateOf(nodeId: string, term: number) {
  return { groupId: "g", nodeId, term, instanceId: nodeId };
}

it("the label is removed before the lease ends if renewals fail", async () => {
  await using elector = StoreElector.open({ store: new MemoryStore(), clock });
  const cut = new Proxy<Elector>(elector, {
    get: (target, name) => {
      if (name === "renew") return () => Promise.reject(new BackendUnavailableError("cut off"));
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
  const election = new Election(cut, { groupId: "g", nodeId: "a", ttlMs: TTL_MS, stopMarginMs: 2000, clock });
  const label = labelOf("a");
  let lease = NEVER;
  let isLosing = false;
  election.onPromote((mandate, losing, left) => {
    lease = left;
    losing.addEventListener("abort", () => (isLosing = true));
    return label.lead(mandate, losing, left);
  });
  void election.start();
  await clock.advance(0);
  await reported("labelled 1");
  const leftAtRemovalMs: number[] = [];
  api.arrived = () => void leftAtRemovalMs.push(lease.leftMs());
  // From then on virtual time stands still until the request arrives.
  while (!isLosing) await clock.advance(10);
  await reported("removed from a");
  expect(leftAtRemovalMs[0]).toBeGreaterThan(1000);
  expect(api.labelled).toEqual([]);
  const stopped = election.stop();
  await clock.advance(TTL_MS);
  await stopped;
  await label.close();
});

it("a lease that is given up voluntarily is kept until the API has confirmed the removal, and is given back then", async () => {
  await using elector = StoreElector.open({ store: new MemoryStore(), clock });
  const watched = new Proxy<Elector>(elector, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      if (name !== "resign") return value.bind(target) as unknown;
      return (request: ResignRequest) => {
        events.push(`resigned with ${api.labelled.length} labelled`);
        return target.resign(request);
      };
    },
  });
  const election = new Election(watched, { groupId: "g", nodeId: "a", ttlMs: TTL_MS, clock });
  const label = labelOf("a");
  election.onPromote((mandate, losing, lease) => label.lead(mandate, losing, lease));
  void election.start();
  await clock.advance(0);
  await reported("labelled 1");
  api.failing = 2;
  const stopped = election.stop();
  await api.until(() => api.answered.at(-1) === 500);
  expect(events.filter((event) => event.startsWith("resigned"))).toEqual([]);
  await passUntil(() => api.labelled.length === 0, 100);
  await stopped;
  expect(events).toEqual([
    "labelled 1",
    "the Kubernetes API answered 500: etcdserver: request timed out",
    "removed from a",
    "resigned with 0 labelled",
  ]);
});

it("an addition that reaches the API after the removal is refused", async () => {
  let release = (): void => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  const adding = new Promise<void>((resolve) => {
    api.arrived = ({ metadata }) => {
      if (metadata?.labels?.["tenure-leader"] !== "g") return;
      resolve();
      return held;
    };
  });
  const losing = new AbortController();
  const led = labelOf("a").lead(mandateOf("a", 7), losing.signal, NEVER);
  await adding;
  losing.abort();
  await led;
  release();
  await api.until(() => api.answered.length === 2);
  expect(api.answered).toEqual([200, 409]);
  expect(api.labelled).toEqual([]);
});

it("a leader removes the label from pods of earlier terms before it labels its own, and does not touch a later term", async () => {
  const [first, second, third] = [new AbortController(), new AbortController(), new AbortController()];
  const frozen = labelOf("a").lead(mandateOf("a", 1), first.signal, NEVER);
  await api.until(() => api.labelled.includes("a"));
  const leading = labelOf("b").lead(mandateOf("b", 2), second.signal, NEVER);
  await api.until(() => api.labelled.includes("b"));
  expect(api.written.map(({ labelled }) => labelled)).toEqual([["a"], [], ["b"]]);
  const late = labelOf("c").lead(mandateOf("c", 1), third.signal, NEVER);
  while (events.at(-1) !== "pod b has the label with the later term 2") await clock.advance(0);
  expect(api.labelled).toEqual(["b"]);
  for (const each of [first, second, third]) each.abort();
  await Promise.all([frozen, leading, late]);
  expect(api.labelled).toEqual([]);
});

it("a label that a person removes is put back, with the token that Kubernetes has replaced meanwhile", async () => {
  const losing = new AbortController();
  const led = labelOf("a").lead(mandateOf("a", 3), losing.signal, NEVER);
  await api.until(() => api.labelled.includes("a"));
  api.replaceToken("second");
  const person = new KubernetesPods({
    env: api.env,
    credentials: api.directory,
    requestLimitMs: 60_000,
    clock,
  });
  await person.patch("a", { labels: { "tenure-leader": null }, annotations: {} });
  expect(api.labelled).toEqual([]);
  await passUntil(() => api.labelled.length > 0, 1000);
  losing.abort();
  await led;
});
