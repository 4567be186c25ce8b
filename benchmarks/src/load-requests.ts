/** The requests of a load, as they are written to a connection. */
import type { Load } from "./service-load.js";

const TTL_MS = 60_000;
const NODE = { node_id: "node-1", instance_start_uuid: "0b5a3c1e-7d0f-4b52-9f0e-5d1a8c7e2b11" };

/** A campaign that wins the group. */
export function winRequest(group: string): Buffer {
  return request("POST", `/v1/groups/${group}/campaign`, { ...NODE, lease_ttl_ms: TTL_MS });
}

/** Asks for the first group, or for all of them where the verb takes many. `terms`: of the groups that were won. */
export function requestOf(verb: Load["verb"], terms: ReadonlyMap<string, number>): Buffer {
  const renewals = Array.from(terms, ([group_id, term]) => ({
    group_id,
    ...NODE,
    term,
    extend_by_ms: TTL_MS,
  }));
  if (verb === "renew-many") return request("POST", "/v1/renew", { renewals });
  const { group_id = "", ...renewal } = renewals[0] ?? {};
  const path = `/v1/groups/${group_id}`;
  return verb === "leader" ? request("GET", `${path}/leader`) : request("POST", `${path}/renew`, renewal);
}

function request(method: string, path: string, body?: object): Buffer {
  const text = body === undefined ? "" : JSON.stringify(body);
  const headers =
    body === undefined
      ? []
      : ["content-type: application/json", `content-length: ${Buffer.byteLength(text)}`];
  return Buffer.from(
    `${[`${method} ${path} HTTP/1.1`, "host: 127.0.0.1", ...headers].join("\r\n")}\r\n\r\n${text}`,
  );
}
