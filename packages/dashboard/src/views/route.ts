import { useEffect, useState } from "preact/hooks";

/** Where the reader is, in the part of the address that is never sent: a page, and what is picked on it. */
export type Route =
  | { readonly kind: "groups" }
  | { readonly kind: "group"; readonly groupId: string }
  | { readonly kind: "overview" }
  | { readonly kind: "activity" };

export interface Place {
  readonly route: Route;
  readonly query: URLSearchParams;
}

export function parsePlace(hash: string): Place {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?");
  return { route: parseRoute(path), query: new URLSearchParams(query) };
}

function parseRoute(path: string): Route {
  if (path === "overview" || path === "activity") return { kind: path };
  const id = /^groups\/(.+)$/.exec(path)?.[1];
  if (id === undefined) return { kind: "groups" };
  try {
    return { kind: "group", groupId: decodeURIComponent(id) };
  } catch {
    return { kind: "groups" };
  }
}

export function groupHref(groupId: string): string {
  return `#/groups/${encodeURIComponent(groupId)}`;
}

/** The address of a page with what is picked on it; what is empty is left out. */
export function hrefWith(path: string, picked: Readonly<Record<string, string>>): string {
  const query = new URLSearchParams(Object.entries(picked).filter(([, value]) => value !== "")).toString();
  return `#/${path}${query === "" ? "" : `?${query}`}`;
}

/** Puts what is picked into the address, where a reload and a shared link find it. "": not picked. */
export function setQuery(changes: Readonly<Record<string, string>>): void {
  const [path = "", before = ""] = location.hash.replace(/^#\/?/, "").split("?");
  history.replaceState(
    null,
    "",
    hrefWith(path, { ...Object.fromEntries(new URLSearchParams(before)), ...changes }),
  );
  dispatchEvent(new Event("hashchange"));
}

export function usePlace(): Place {
  const [place, setPlace] = useState(() => parsePlace(location.hash));
  useEffect(() => {
    const changed = (): void => setPlace(parsePlace(location.hash));
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return place;
}
