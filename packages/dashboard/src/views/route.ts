import { useEffect, useState } from "preact/hooks";

/** Where the reader is, in the part of the address that is never sent. */
export type Route =
  | { readonly kind: "groups" }
  | { readonly kind: "group"; readonly groupId: string }
  | { readonly kind: "overview" };

export function parseRoute(hash: string): Route {
  const path = hash.replace(/^#\/?/, "");
  if (path === "overview") return { kind: "overview" };
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

export function useRoute(): Route {
  const [route, setRoute] = useState(() => parseRoute(location.hash));
  useEffect(() => {
    const changed = (): void => setRoute(parseRoute(location.hash));
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return route;
}
