import { InvalidRequestError } from "@tenure/core";
import { expect, test } from "vitest";
import { parseOptions } from "./options.js";

const endpoints = ["http://a:8080", "https://b:8080/tenure/"];

function refusal(given: object): string {
  try {
    parseOptions({ endpoints, ...given });
    return "accepted";
  } catch (error) {
    expect(error).toBeInstanceOf(InvalidRequestError);
    return (error as InvalidRequestError).field;
  }
}

test("options of HttpElector that are left out have their defaults", () => {
  const { endpoints: urls, ...rest } = parseOptions({ endpoints });
  expect(urls.map(String)).toEqual(["http://a:8080/", "https://b:8080/tenure/"]);
  expect(rest).toMatchObject({
    token: null,
    requestTimeoutMs: 5000,
    connectTimeoutMs: 2000,
    batch: true,
  });
  expect(parseOptions({ endpoints, requestTimeoutMs: 300 }).connectTimeoutMs).toBe(300);
});

test("wrong options of HttpElector are refused by name", () => {
  expect(refusal({ surprise: 1 })).toBe("surprise");
  expect(refusal({ endpoints: [] })).toBe("endpoints");
  for (const bad of ["a:8080", "ftp://a", "http://user:secret@a", "http://a?x=1", 7]) {
    expect(refusal({ endpoints: ["http://a", bad] })).toBe("endpoints[1]");
  }
  expect(refusal({ token: "" })).toBe("token");
  expect(refusal({ token: "t", tokenFile: "f" })).toBe("tokenFile");
  expect(refusal({ requestTimeoutMs: 0 })).toBe("requestTimeoutMs");
  expect(refusal({ requestTimeoutMs: 100, connectTimeoutMs: 200 })).toBe("connectTimeoutMs");
  expect(refusal({ batch: "yes" })).toBe("batch");
  expect(refusal({ tls: { cert: "c" } })).toBe("tls.key");
  expect(refusal({ tls: { ca: "c", caFile: "f" } })).toBe("tls.caFile");
  expect(refusal({ tls: { surprise: 1 } })).toBe("tls.surprise");
});
