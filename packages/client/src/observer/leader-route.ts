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

/** Where a request goes that only the leader can serve. */
export class LeaderRoute {
  readonly #parts: LeaderRouteParts;

  constructor(parts: LeaderRouteParts) {
    this.#parts = parts;
  }

  of(url: string, wasForwarded: boolean): Route {
    const { observer, nodeId, isLeader, mode } = this.#parts;
    if (isLeader?.() === true) return { kind: "local" };
    const leader = observer.leader();
    if (leader === null) return nowhere("nobody leads just now, as far as is known here; ask again");
    if (leader.nodeId === nodeId) {
      return isLeader === undefined
        ? { kind: "local" }
        : nowhere(`${nodeId} leads no more, or not yet; ask again`);
    }
    if (wasForwarded) {
      return nowhere(`it was passed on to this node, which takes ${leader.nodeId} for the leader; ask again`);
    }
    if (leader.address === null)
      return nowhere(`it is not known where the leader, ${leader.nodeId}, is reached`);
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

/** Proxies may be sent a whole URL; of it only the path is meant for the leader. */
function pathOf(url: string): string {
  if (url.startsWith("/")) return url;
  if (!URL.canParse(url)) return "/";
  const { pathname, search } = new URL(url);
  return pathname + search;
}
