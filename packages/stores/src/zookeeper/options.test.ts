import { InvalidRequestError } from "@tenure/core";
import { describe, expect, test } from "vitest";
import { openStore } from "../open-store.js";
import { checkOptions, parseZookeeperUrl, type ZookeeperStoreOptions } from "./options.js";

const servers = [{ host: "a", port: 2181 }];

describe("a zookeeper: URL", () => {
  test("a ZooKeeper URL can express every option", () => {
    const url =
      "zookeeper://user:p%40ss@a,b:2,[::1]:3/x/y?session_timeout_ms=9000&tls=true&ca=ca.pem&cert=c.pem&key=k.pem";
    expect(parseZookeeperUrl(url)).toEqual({
      servers: [
        { host: "a", port: 2181 },
        { host: "b", port: 2 },
        { host: "::1", port: 3 },
      ],
      path: "/x/y",
      user: "user",
      password: "p@ss",
      sessionTimeoutMs: 9000,
      tls: { ca: "ca.pem", cert: "c.pem", key: "k.pem" },
    });
  });

  test("a ZooKeeper URL needs only a host", () => {
    expect(checkOptions(parseZookeeperUrl("zookeeper://a"))).toEqual({
      servers,
      path: "/tenure",
      credentials: undefined,
      timeoutMs: 6000,
      tls: undefined,
    });
    expect(parseZookeeperUrl("zookeeper://a/").path).toBeUndefined();
    expect(checkOptions(parseZookeeperUrl("zookeeper://a?tls=true")).tls).toEqual({});
    expect(checkOptions(parseZookeeperUrl("zookeeper://a?ca=x")).tls).toEqual({ ca: "x" });
  });

  test.each([
    ["zookeeper:a", "store", /must look like/],
    ["zookeeper://", "store", /names the server ""/],
    ["zookeeper://a?session_timeout=1", "store", /must be one of session_timeout_ms, tls, ca, cert, key/],
    ["zookeeper://a?session_timeout_ms=5", "store", /from 1000 to 60000/],
    ["zookeeper://a?tls=1", "store", /tls=1; must be true or false/],
    ["zookeeper://a?tls=false&ca=x", "store", /has ca and tls=false; remove one/],
    ["zookeeper://a?tls=true&key=x", "tls.cert", /together with `tls.key`/],
    ["zookeeper://a//b", "path", /the part ""/],
    ["zookeeper://a/b/", "path", /the part ""/],
    ["zookeeper://a/b/../c", "path", /the part "\.\."/],
    ["zookeeper://a/%01", "path", /cannot be the name of a node/],
    ["zookeeper://a/%F0%9F%A6%80", "path", /cannot be the name of a node/],
    ["zookeeper://a/zookeeper/quota", "path", /ZooKeeper uses itself/],
    ["zookeeper://user@a", "password", /together with `user`/],
    ["zookeeper://us%3Aer:secret@a", "user", /must not contain a colon/],
  ])("the ZooKeeper URL %s is refused, naming %s", async (url, field, problem) => {
    const error: unknown = await openStore(url).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(InvalidRequestError);
    expect(error).toMatchObject({ field });
    expect(String(error)).toMatch(problem);
    expect(String(error)).not.toContain("secret");
  });
});

describe("the options of ZookeeperStore", () => {
  const wrong: [object, string][] = [
    [{}, "servers"],
    [{ servers: [] }, "servers"],
    [{ servers: "a:2181" }, "servers"],
    [{ servers: [null] }, "servers[0].host"],
    [{ servers: [...servers, { host: "", port: 1 }] }, "servers[1].host"],
    [{ servers: [{ host: "a", port: 65_536 }] }, "servers[0].port"],
    [{ servers: [{ host: "a", port: "2181" }] }, "servers[0].port"],
    [{ servers, path: "tenure" }, "path"],
    [{ servers, path: "/" }, "path"],
    [{ servers, path: 1 }, "path"],
    [{ servers, path: `/${"x".repeat(512)}` }, "path"],
    [{ servers, user: "" }, "user"],
    [{ servers, password: "secret" }, "user"],
    [{ servers, user: "a", password: 1 }, "password"],
    [{ servers, sessionTimeoutMs: 999 }, "sessionTimeoutMs"],
    [{ servers, sessionTimeoutMs: 1e9 }, "sessionTimeoutMs"],
    [{ servers, tls: { cert: "c" } }, "tls.key"],
    [{ servers, tls: { pfx: "c" } }, "tls.pfx"],
    [{ servers, tls: { ca: "" } }, "tls.ca"],
    [{ servers, tls: 1 }, "tls"],
    [{ servers, timeout: 1 }, "timeout"],
  ];
  test.each(wrong)("the ZooKeeper options %j are refused, naming %s", (options, field) => {
    const check = (): unknown => checkOptions(options as ZookeeperStoreOptions);
    expect(check).toThrow(InvalidRequestError);
    expect(check).toThrow(expect.objectContaining({ field }));
    expect(check).not.toThrow(/secret/);
  });
});
