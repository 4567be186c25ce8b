import { InvalidRequestError } from "@tenure/core";
import { expect, test } from "vitest";
import { checkOptions, parseEtcdUrl } from "./options.js";

const servers = ["a"];

test("an etcd URL can express every option", () => {
  const url =
    "etcd://us%40er:p%2Fw@a,b:1,[::1]:2/my/space?tls=true&ca=/ca.pem&cert=/cert.pem&key=/key.pem&max_txn_ops=1024";
  expect(checkOptions(parseEtcdUrl(url))).toEqual({
    endpoints: ["a:2379", "b:1", "[::1]:2"],
    prefix: "my/space",
    login: { user: "us@er", password: "p/w" },
    tls: { ca: "/ca.pem", cert: "/cert.pem", key: "/key.pem" },
    maxTxnOps: 1024,
  });
});

test("missing etcd options have defaults, and checked options are frozen", () => {
  const options = checkOptions(parseEtcdUrl("etcd://a"));
  expect(options).toEqual({
    endpoints: ["a:2379"],
    prefix: "tenure",
    login: null,
    tls: null,
    maxTxnOps: 128,
  });
  expect(Object.isFrozen(options)).toBe(true);
  expect(checkOptions({ servers, tls: true }).tls).toEqual({});
});

test("a file in the etcd URL implies TLS", () => {
  expect(checkOptions(parseEtcdUrl("etcd://a?ca=x")).tls).toEqual({ ca: "x" });
  expect(checkOptions(parseEtcdUrl("etcd://a?tls=false")).tls).toBeNull();
});

test("an etcd prefix may begin with a slash and contain any text", () => {
  for (const prefix of ["/tenure", "a/b c/ä"]) expect(checkOptions({ servers, prefix }).prefix).toBe(prefix);
});

test.each<readonly [string, object, RegExp]>([
  ["servers", { servers: [] }, /at least one server/],
  ["servers", { servers: "a:2379" }, /must be a list/],
  ["servers[1]", { servers: ["a", "http://b:2379"] }, /without a scheme/],
  ["servers[0]", { servers: [""] }, /host or host:port/],
  ["servers[0]", { servers: ["a:0"] }, /from 1 to 65535/],
  ["servers[0].port", { servers: [{ host: "a", port: 0 }] }, /from 1 to 65535/],
  ["prefix", { prefix: "" }, /1 to 200 characters/],
  ["prefix", { prefix: "x".repeat(201) }, /1 to 200 characters/],
  ["prefix", { prefix: "a/" }, /end with a slash/],
  ["prefix", { prefix: "a//b" }, /two in a row/],
  ["prefix", { prefix: "a\0" }, /control characters/],
  ["prefix", { prefix: "a\uD800" }, /control characters/],
  ["user", { password: "secret" }, /together with `password`/],
  ["password", { user: "somebody" }, /together with `user`/],
  ["tls", { tls: "yes" }, /true, false or an object/],
  ["ca", { ca: "/ca.pem" }, /is not an option/],
  ["tls.ca", { tls: { ca: "" } }, /not empty/],
  ["tls.pfx", { tls: { pfx: "/x" } }, /the options are ca, cert, key/],
  ["tls.cert", { tls: { key: "/key.pem" } }, /together with `tls.key`/],
  ["tls.key", { tls: { cert: "/cert.pem" } }, /together with `tls.cert`/],
  ["maxTxnOps", { maxTxnOps: 2 }, /from 3 to 100000/],
  ["maxTxnOps", { maxTxnOps: 12.5 }, /whole number/],
  ["speed", { speed: 1 }, /is not an option of this store; the options are servers, prefix/],
])("the etcd option %s is refused with its reason: %o", (field, options, reason) => {
  const check = (): unknown => checkOptions({ servers, ...options });
  expect(check).toThrow(InvalidRequestError);
  expect(check).toThrow(reason);
  expect(check).not.toThrow(/secret/);
  try {
    check();
  } catch (error) {
    expect((error as InvalidRequestError).field).toBe(field);
  }
});

test.each([
  ["etcd://a?max_txn_ops=2", /max_txn_ops=2; must be a whole number from 3/],
  ["etcd://a?tls=1", /tls=1; must be true or false/],
  ["etcd://a?tls=false&ca=x", /has ca and tls=false; remove one/],
  ["etcd://a?speed=1", /parameter "speed"; must be one of tls, ca, cert, key, max_txn_ops/],
])("the etcd URL %s is refused with its reason", (url, reason) => {
  expect(() => parseEtcdUrl(url)).toThrow(reason);
});
