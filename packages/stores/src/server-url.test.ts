import { expect, test } from "vitest";
import { ServerUrl } from "./server-url.js";

const SHAPE = { defaultPort: 2379, parameters: ["tls", "replicas"] };

test("servers, credentials, path and parameters of a URL are parsed", () => {
  const url = new ServerUrl("etcd://us%40er:p:w%2F@a,b:1,[::1]:2/my%20prefix/x?tls=true&replicas=3", SHAPE);
  expect(url.servers).toEqual([
    { host: "a", port: 2379 },
    { host: "b", port: 1 },
    { host: "::1", port: 2 },
  ]);
  expect([url.user, url.password, url.path]).toEqual(["us@er", "p:w/", "my prefix/x"]);
  expect(url.flag("tls")).toBe(true);
  expect(url.integer("replicas", { min: 1, max: 5 })).toBe(3);
});

test("a missing part of a server URL is undefined or empty", () => {
  const url = new ServerUrl("etcd://a", SHAPE);
  expect([url.user, url.password, url.path]).toEqual([undefined, undefined, undefined]);
  expect(url.flag("tls")).toBeUndefined();
  expect(url.integer("replicas", { min: 1, max: 5 })).toBeUndefined();
});

test.each([
  ["etcd:a", /must look like/],
  ["etcd://", /names the server ""/],
  ["etcd://a,,b", /names the server ""/],
  ["etcd://a:0", /port 0; must be from 1 to 65535/],
  ["etcd://a:65536", /port 65536/],
  ["etcd://::1", /names the server/],
  ["etcd://:secret@a", /password without a user/],
  ["etcd://a/%zz", /path that is not well percent-encoded/],
  ["etcd://a?speed=1", /parameter "speed"; must be one of tls, replicas/],
  ["etcd://a?tls=true&tls=true", /tls twice/],
])("the server URL %s is refused with its reason", (url, reason) => {
  expect(() => new ServerUrl(url, SHAPE)).toThrow(reason);
});

test("no refusal of a server URL repeats the password", () => {
  const refusal = (): unknown => new ServerUrl("etcd://user:secret%zz@a", SHAPE);
  expect(refusal).toThrow(/password that is not well percent-encoded/);
  expect(refusal).not.toThrow(/secret/);
});

test("parameters of a server URL are refused outside of their bounds", () => {
  const url = new ServerUrl("etcd://a?tls=yes&replicas=9", SHAPE);
  expect(() => url.flag("tls")).toThrow("tls=yes; must be true or false");
  const bounds = { min: 1, max: 5 };
  expect(() => url.integer("replicas", bounds)).toThrow("must be a whole number from 1 to 5");
});
