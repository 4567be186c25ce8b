import { InvalidRequestError } from "@tenure/core";
import { describe, expect, it } from "vitest";
import { MAX_ENDPOINT_LENGTH } from "../membership/endpoint.js";
import type { PeerState } from "../protocol/messages.js";
import { decodeEntries, decodeState, encodeEntry, encodeState } from "./codec.js";

const STATE: PeerState = {
  identity: "n1",
  endpoint: "https://n1:1",
  disk: "d1",
  term: 7,
  lease: { leaderId: "n2", leaderEndpoint: "https://n2:1", term: 7, leftMs: 12.5, led: true },
  config: {
    cluster: "d2",
    epoch: { term: 6, n: 3 },
    members: { n1: { endpoint: "https://n1:1", disk: "d1" }, n2: { endpoint: "https://n2:1", disk: "d2" } },
  },
  founder: "https://n1:1",
  leading: false,
};

const overTheWire = (state: PeerState): unknown => JSON.parse(JSON.stringify(encodeState(state)));

describe("the state of a peer on the wire", () => {
  it("the state of a peer is decoded as it was encoded, with and without lease, electorate and founder", () => {
    expect(decodeState(overTheWire(STATE))).toEqual(STATE);
    const bare: PeerState = { ...STATE, lease: null, config: null, founder: null, leading: true };
    expect(decodeState(overTheWire(bare))).toEqual(bare);
  });

  it.each([
    ["a value that is not an object", null],
    ["a missing identity", { identity: undefined }],
    ["a negative term", { term: -1 }],
    ["a term that is not a number", { term: "7" }],
    ["an electorate without members", { config: { cluster: "c", epoch: [1, 1], members: {} } }],
    [
      "an epoch of three numbers",
      { config: { cluster: "c", epoch: [1, 1, 1], members: { a: { endpoint: "e", disk: "d" } } } },
    ],
    [
      "a voter without a disk",
      { config: { cluster: "c", epoch: [1, 1], members: { a: { endpoint: "e" } } } },
    ],
    ["a lease without an end", { lease: { leader_id: "a", leader_endpoint: "e", term: 1 } }],
  ])("the state of a peer is refused with %s", (_case, change) => {
    const value = change === null ? null : { ...(overTheWire(STATE) as object), ...change };
    expect(() => decodeState(value)).toThrow(InvalidRequestError);
  });
});

it("a registry entry whose endpoint is too long or not a URL is left out, and the others are accepted", () => {
  const entryOf = (endpoint: string) =>
    encodeEntry({ backendHash: "h", endpoint, isRegistered: true, version: { n: 1, by: "n1" } });
  const longest = "https://".padEnd(MAX_ENDPOINT_LENGTH, "a");
  const given = [`${longest}a`, longest, "n2", "https://n3:1"].map(entryOf);
  expect(decodeEntries({ entries: given }).map(({ endpoint }) => endpoint)).toEqual([
    longest,
    "https://n3:1",
  ]);
});
