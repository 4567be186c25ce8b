import { describe, expect, it } from "vitest";
import { asId, targetOf } from "./connection.js";
import { DEFAULT_SERVER } from "./default-server.js";

describe("the target of a command", () => {
  it("a command uses the server of this machine by default", () => {
    expect(targetOf({}, {})).toEqual({ kind: "server", endpoints: [DEFAULT_SERVER], access: {} });
  });

  it("the command line overrides the environment for the target", () => {
    const env = { TENURE_STORE: "memory:" };
    expect(targetOf({}, env)).toEqual({ kind: "store", url: "memory:" });
    expect(targetOf({ server: "http://a" }, env)).toMatchObject({ kind: "server", endpoints: ["http://a"] });
    expect(targetOf({}, { TENURE_SERVER: "http://a, http://b" })).toMatchObject({
      endpoints: ["http://a", "http://b"],
    });
    expect(targetOf({ store: "embedded:x" }, { TENURE_SERVER: "http://a" })).toEqual({
      kind: "store",
      url: "embedded:x",
    });
  });

  it("--server and --store cannot be combined, neither on the command line nor in the environment", () => {
    expect(() => targetOf({ server: "http://a", store: "memory:" }, {})).toThrow(
      "cannot be combined with --server",
    );
    expect(() => targetOf({}, { TENURE_SERVER: "http://a", TENURE_STORE: "memory:" })).toThrow(
      "TENURE_SERVER",
    );
  });

  it("credentials come from options, then from the environment, and an empty variable counts as unset", () => {
    const env = {
      TENURE_TOKEN_FILE: "t",
      TENURE_CA: "",
      TENURE_CERT: "c",
      TENURE_KEY: "k",
      TENURE_SERVER: "",
    };
    expect(targetOf({ cert: "mine" }, env)).toEqual({
      kind: "server",
      endpoints: [DEFAULT_SERVER],
      access: { tokenFile: "t", certFile: "mine", keyFile: "k" },
    });
  });
});

it.each([
  ["worker-1.example", "worker-1.example"],
  ["Jane Doe@home", "Jane_Doe_home"],
  ["..", "otherwise"],
  ["", "otherwise"],
])("the machine name %j as a node id is %s", (name, id) => {
  expect(asId(name, "otherwise")).toBe(id);
});
