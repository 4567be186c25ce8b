/** Every reason not to start, in a sentence that says what to do. */
import { InvalidRequestError } from "@tenure/core";
import { describe, expect, it } from "vitest";
import type { Bundle } from "../certificates/bundle.js";
import { type GivenNodeOptions, parseNodeOptions } from "./peer-node-options.js";

const bundle = (kind: string): Bundle => ({
  key: "",
  cert: "",
  ca: "",
  owner: { trustDomain: "lockd", kind, name: "n1" },
  expiresAtMs: 0,
  serial: "01",
});

const GIVEN: GivenNodeOptions = {
  join: "https://node-1:7420, https://node-2:7420/",
  listen: { host: "node-1", port: 7420 },
  ttlMs: 5000,
  store: "embedded:/var/lib/tenure",
  bundle: bundle("server"),
};

function refused(change: Partial<GivenNodeOptions>): string {
  try {
    parseNodeOptions({ ...GIVEN, ...change });
  } catch (error) {
    expect(error).toBeInstanceOf(InvalidRequestError);
    return (error as Error).message;
  }
  throw new Error("it was not refused");
}

describe("parseNodeOptions", () => {
  it("a node takes its identity from its certificate and its endpoint from its address, with normalized join targets", () => {
    expect(parseNodeOptions(GIVEN)).toEqual({
      identity: "n1",
      trustDomain: "lockd",
      endpoint: "https://node-1:7420",
      join: ["https://node-1:7420", "https://node-2:7420"],
      ttlMs: 5000,
    });
    const behind = { advertise: "https://public:443/", listen: { host: "0.0.0.0", port: 7420 } };
    expect(parseNodeOptions({ ...GIVEN, ...behind }).endpoint).toBe("https://public");
    expect(parseNodeOptions({ ...GIVEN, listen: { host: "fd00::1", port: 1 } }).endpoint).toBe(
      "https://[fd00::1]:1",
    );
  });

  it("a single node needs no certificate: its identity follows from its endpoint and is stable", () => {
    const alone = { bundle: null, join: "http://node-1:7420" };
    const { identity, trustDomain } = parseNodeOptions({ ...GIVEN, ...alone });
    expect(trustDomain).toBeNull();
    expect(parseNodeOptions({ ...GIVEN, ...alone }).identity).toBe(identity);
    const elsewhere = { ...alone, join: "http://node-1:7421", listen: { host: "node-1", port: 7421 } };
    expect(parseNodeOptions({ ...GIVEN, ...elsewhere }).identity).not.toBe(identity);
  });

  it.each<[string, Partial<GivenNodeOptions>, RegExp]>([
    [
      "others to join but no certificate",
      { bundle: null, join: "http://node-1:7420,http://b:1" },
      /^join names http:\/\/b:1.*give --bundle/,
    ],
    [
      "the certificate of a client",
      { bundle: bundle("tc") },
      /^bundle is that of a tc.*tenure ca issue server/,
    ],
    ["the certificate of an sdk", { bundle: bundle("sdk") }, /^bundle is that of a sdk/],
    [
      "a store that other servers share",
      { store: "postgres://db/x" },
      /^join needs a store of this server's own.*embedded:DIR/,
    ],
    ["a store that is not durable", { store: "memory:" }, /embedded:DIR/],
    ["an empty join list", { join: " , " }, /^join is empty.*its own URL/],
    ["a join target that is not a URL", { join: "node-1" }, /^join is "node-1" and must be a URL such as/],
    ["a join target with a path", { join: "https://node-1:7420/x" }, /^join is .* with nothing after it/],
    [
      "a join target in plain HTTP",
      { join: "http://node-2:7420" },
      /^join needs https throughout, and http:\/\/node-2:7420/,
    ],
    ["its own address in plain HTTP", { advertise: "http://node-1:7420" }, /needs https throughout/],
    [
      "an address that others cannot reach",
      { listen: { host: "0.0.0.0", port: 7420 } },
      /^advertise is missing.*give the URL/,
    ],
    ["a port that others cannot know", { listen: { host: "node-1", port: 0 } }, /^advertise is missing/],
    ["a lease too short", { ttlMs: 299 }, /^tc-ttl must be .*300/],
    ["a lease that is not a number", { ttlMs: Number.NaN }, /^tc-ttl must be/],
  ])("a node with %s does not start", (_case, change, sentence) => {
    expect(refused(change)).toMatch(sentence);
  });
});
