import { VirtualClock } from "@tenure/core/testing";
import { expect, it } from "vitest";
import { ServiceError } from "../service-error.js";
import type { Authenticator, Credentials } from "./authenticator.js";
import type { Caller } from "./caller.js";
import { OpenRequests } from "./open-requests.js";

const ADA: Caller = { kind: "jwt", role: "admin", name: "ada" };

function open(refuse: (authorization: string) => ServiceError | null) {
  const clock = new VirtualClock();
  const authenticator: Authenticator = {
    authenticate: ({ authorization = "" }: Credentials) => {
      const refusal = refuse(authorization);
      if (refusal !== null) throw refusal;
      return ADA;
    },
    [Symbol.asyncDispose]: async () => {},
  };
  const cut: string[] = [];
  const requests = new OpenRequests({
    authenticator,
    clock,
    onCut: ({ name }, reason) => cut.push(`${name}: ${reason}`),
  });
  const add = (authorization: string, caller = ADA): (() => void) | null =>
    requests.add(caller, { authorization, certificate: undefined }, () => cut.push(authorization));
  return { clock, requests, cut, add };
}

it("requests whose token expires while they are being answered are cut off within ten seconds", async () => {
  let isExpired = false;
  const { clock, cut, add } = open((token) =>
    isExpired && token === "short" ? new ServiceError("UNAUTHENTICATED", "the token has expired") : null,
  );
  add("short");
  add("long");
  await clock.advance(10_000);
  expect(cut).toEqual([]);
  isExpired = true;
  await clock.advance(10_000);
  expect(cut).toEqual(["ada: the token has expired", "short"]);
  await clock.advance(60_000);
  expect(cut).toHaveLength(2);
});

it("requests that were answered, have no credentials or cannot be checked are not cut off", async () => {
  const { clock, cut, add } = open(
    (token) => new ServiceError(token === "unknown" ? "BACKEND_UNAVAILABLE" : "UNAUTHENTICATED", "no"),
  );
  add("answered")?.();
  add("anonymous", { kind: "none", role: "admin", name: "loopback" });
  add("unknown");
  await clock.advance(20_000);
  expect(cut).toEqual([]);
});

it("thousands of open requests are checked in slices, between which others are served", async () => {
  let asked = 0;
  const { clock, requests, add } = open(() => {
    asked++;
    return null;
  });
  for (let i = 0; i < 1000; i++) add(`token ${i}`);
  const checked = requests.check();
  let turns = 0;
  const count = (): void => {
    if (asked < 1000) clock.soon(count);
    turns++;
  };
  count();
  await clock.advance(0);
  await checked;
  expect(asked).toBe(1000);
  expect(turns).toBeGreaterThan(5);
});
