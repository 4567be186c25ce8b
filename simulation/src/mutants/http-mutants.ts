/** Mutants of the client over HTTP: what it does about a server that has stopped answering. */
import type { Mutant } from "../harness/mutant.js";
import type { Patch } from "../harness/patch.js";

function patch(file: string, find: string, replace: string): Patch {
  return { file: `client/${file}`, find, replace };
}

const profile = "frozen-servers";

export const HTTP_MUTANTS: readonly Mutant[] = [
  {
    name: "one-long-wait",
    rule: "a waiting campaign is a row of short waits, each with its time limit",
    patches: [
      patch(
        "http/wait-in-slices.ts",
        "const sliceMs = waitSliceMs(parsed.candidate.ttlMs);",
        "const sliceMs = parsed.waitMs;",
      ),
    ],
    profile,
  },
  {
    name: "given-up-unmarked",
    rule: "a server that has not answered within the caller's time limit is asked last by the next call",
    patches: [
      patch("http/transport.ts", "if (hadTime && isTimeLimit(call.signal))", "if (false)"),
      // Else the limits of the transport come first, and fail over within the call.
      patch(
        "http/time-limits.ts",
        "return withinMs(ttlMs, requestTimeoutMs, CAMPAIGN_SHARE);",
        "return requestTimeoutMs;",
      ),
    ],
    profile,
  },
  {
    name: "long-silence",
    rule: "a watch leaves a server that is silent for about half a ttl",
    patches: [patch("http/silence.ts", "after(patience.silenceMs, tooLong)", "after(40_000, tooLong)")],
    profile,
  },
];
