import type { ObservedLeader } from "./observed.js";

export interface LeaderRouteParts {
  readonly observer: { leader(): ObservedLeader | null };
  readonly nodeId: string | undefined;
  readonly isLeader: (() => boolean) | undefined;
  readonly mode: "forward" | "redirect";
}

export type Route =
  | { readonly kind: "local" }
  | { readonly kind: "forward"; readonly base: URL; readonly path: string; readonly leaderId: string }
  | { readonly kind: "redirect"; readonly location: string }
  | { readonly kind: "nowhere"; readonly problem: string };

/** Where to send a request that only the leader can serve. */
export class LeaderRoute {
  readonly #parts: LeaderRouteParts;

  constructor(parts: LeaderRouteParts) {
    this.#parts = parts;
  }

  of(url: string, wasForwarded: boolean): Route {
    const { observer, nodeId, isLeader, mode } = this.#parts;
    if (isLeader?.() === true) return { kind: "local" };
    const leader = observer.leader();
    if (leader === null) return nowhere("no leader is known at the moment; retry later");
    if (leader.nodeId === nodeId) {
      return isLeader === undefined
        ? { kind: "local" }
        : nowhere(`${nodeId} does not lead at the moment; retry later`);
    }
    if (wasForwarded) {
      return nowhere(
        `the request was forwarded to this node, but the leader is ${leader.nodeId}; retry later`,
      );
    }
    if (leader.address === null) return nowhere(`the address of the leader, ${leader.nodeId}, is not known`);
    const base = baseOf(leader.address);
    if (base === null)
      return nowhere(`the leader, ${leader.nodeId}, gives an address that is no http or https URL`);
    const path = base.pathname.replace(/\/+$/, "") + pathOf(url);
    return mode === "redirect"
      ? { kind: "redirect", location: base.origin + path }
      : { kind: "forward", base, path, leaderId: leader.nodeId };
  }
}

function nowhere(problem: string): Route {
  return { kind: "nowhere", problem };
}

/** `host:port`, or a whole URL. */
function baseOf(address: string): URL | null {
  const text = address.includes("://") ? address : `http://${address}`;
  const url = URL.canParse(text) ? new URL(text) : null;
  return url !== null && /^https?:$/.test(url.protocol) && url.username === "" && url.password === ""
    ? url
    : null;
}

/** A proxy may be sent a whole URL; only its path is meant for the leader. */
function pathOf(url: string): string {
  if (url.startsWith("/")) return url;
  if (!URL.canParse(url)) return "/";
  const { pathname, search } = new URL(url);
  return pathname + search;
}
