/** Names of fields on the wire that are not just the library's name in snake_case. */
const WIRE_NAMES: Readonly<Record<string, string>> = {
  ttlMs: "lease_ttl_ms",
  instanceId: "instance_start_uuid",
};

/** A renewal has another name for the ttl than a campaign. */
const RENEW_WIRE_NAMES: Readonly<Record<string, string>> = { ...WIRE_NAMES, ttlMs: "extend_by_ms" };

const LIBRARY_NAMES: Readonly<Record<string, string>> = Object.fromEntries(
  [WIRE_NAMES, RENEW_WIRE_NAMES].flatMap((names) =>
    Object.entries(names).map(([library, wire]) => [wire, library] as const),
  ),
);

export type NamesOf = "renew" | "others";

/** The wire name of one field. */
export function wireName(name: string, of: NamesOf = "others"): string {
  const names = of === "renew" ? RENEW_WIRE_NAMES : WIRE_NAMES;
  return names[name] ?? name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** A path of fields: `policy.minTtlMs` is `policy.min_ttl_ms`, `renewals[3].nodeId` is `renewals[3].node_id`. */
export function wireField(field: string, of: NamesOf = "others"): string {
  return field
    .split(".")
    .map((name) => wireName(name, of))
    .join(".");
}

/** The library's name of a field on the wire, the inverse of `wireField`. */
export function libraryField(field: string): string {
  return field
    .split(".")
    .map(
      (name) =>
        LIBRARY_NAMES[name] ?? name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
    )
    .join(".");
}
