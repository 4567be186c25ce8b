import { InvalidRequestError } from "@tenure/core";
import { expect, test } from "vitest";
import { checkOptions, type NatsStoreOptions, parseNatsUrl } from "./options.js";

const GOOD: NatsStoreOptions = { servers: ["localhost"], bucket: "tenure" };

test("a NATS URL names servers, bucket and credentials", () => {
  expect(
    checkOptions(parseNatsUrl("nats://us%40er:p%2Fw@a,b:4333,[::1]/my-bucket?replicas=3&create=false")),
  ).toEqual({
    ...checkOptions(parseNatsUrl("nats://a/x")),
    servers: ["a:4222", "b:4333", "[::1]:4222"],
    bucket: "my-bucket",
    login: { user: "us@er", password: "p/w" },
    replicas: 3,
    create: false,
  });
});

test("a user alone in a NATS URL is a token", () => {
  const { user, password, token } = parseNatsUrl("nats://t0ken@a/b");
  expect([user, password, token]).toEqual([undefined, undefined, "t0ken"]);
});

test("TLS and credentials of NATS are files", () => {
  const url = "nats://a/b?tls=true&ca=ca.pem&cert=c.pem&key=k.pem&creds=u.creds";
  expect(checkOptions(parseNatsUrl(url))).toMatchObject({
    tls: { ca: "ca.pem", cert: "c.pem", key: "k.pem" },
    credentialsFile: "u.creds",
  });
});

test.each([
  ["nats://a", /must name a bucket/],
  ["nats://a/", /must name a bucket/],
  ["nats://a/b?replicas=6", /replicas=6; must be a whole number from 1 to 5/],
  ["nats://a/b?create=no", /create=no; must be true or false/],
  ["nats://a/b?tls=false&ca=x", /has ca and tls=false; remove one/],
  ["nats://a/b?ttl=5", /parameter "ttl"/],
  ["nats://:s3cret@a/b", /password without a user/],
])("the NATS URL %s is refused", (url, reason) => {
  expect(() => parseNatsUrl(url)).toThrow(InvalidRequestError);
  expect(() => parseNatsUrl(url)).toThrow(reason);
  expect(() => parseNatsUrl(url)).not.toThrow(/s3cret/);
});

test.each<[string, object]>([
  ["servers", { servers: [] }],
  ["servers", { servers: "localhost" }],
  ["servers[0]", { servers: ["nats://a"] }],
  ["servers[0]", { servers: ["a:b"] }],
  ["bucket", { bucket: "" }],
  ["bucket", { bucket: "a.b" }],
  ["bucket", { bucket: "a/b" }],
  ["bucket", { bucket: undefined }],
  ["replicas", { replicas: 0 }],
  ["replicas", { replicas: 2.5 }],
  ["create", { create: "yes" }],
  ["tls", { tls: 1 }],
  ["tls.ca", { tls: { ca: 1 } }],
  ["password", { user: "u" }],
  ["user", { password: "s3cret" }],
  ["password", { user: "u", password: 7 }],
  ["token", { token: "" }],
  ["token", { token: "s3cret", credentialsFile: "f" }],
  ["user", { user: "u", password: "s3cret", token: "t" }],
  ["tls.key", { tls: { cert: "c.pem" } }],
  ["tls.cert", { tls: { key: "k.pem" } }],
  ["prefix", { prefix: "x" }],
])("a wrong NATS option is refused by name: %s", (field, wrong) => {
  const check = (): unknown => checkOptions({ ...GOOD, ...wrong });
  expect(check).toThrow(InvalidRequestError);
  expect(check).toThrow(expect.objectContaining({ field }));
  expect(check).not.toThrow(/s3cret/);
});

test("checked NATS options are frozen", () => {
  expect(Object.isFrozen(checkOptions(GOOD))).toBe(true);
});
