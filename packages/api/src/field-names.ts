/** How the fields of a request are called on the wire: by their own names in snake_case, but for these. */
const WIRE_NAMES: Readonly<Record<string, string>> = {
  ttlMs: "lease_ttl_ms",
  instanceId: "instance_start_uuid",
};

/** A renewal calls the same ttl by another name. */
const RENEW_WIRE_NAMES: Readonly<Record<string, string>> = { ...WIRE_NAMES, ttlMs: "extend_by_ms" };

const LIBRARY_NAMES: Readonly<Record<string, string>> = Object.fromEntries(
  [WIRE_NAMES, RENEW_WIRE_NAMES].flatMap((names) =>
    Object.entries(names).map(([library, wire]) => [wire, library] as const),
  ),
);

export type NamesOf = "renew" | "others";

/** The name of one field. */
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

/** The way back. */
export function libraryField(field: string): string {
  return field
    .split(".")
    .map(
      (name) =>
        LIBRARY_NAMES[name] ?? name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
    )
    .join(".");
}
