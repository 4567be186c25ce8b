import { expect, it } from "vitest";
import { paintFor } from "../frame/text.js";
import { logText } from "./log-text.js";

const plain = paintFor(false, {});
const time = new Date(2026, 0, 2, 3, 4, 5).getTime();
const text = (fields: object) => logText(JSON.stringify({ level: 30, time, ...fields }), plain);

it.each([
  [
    "an info line has its time, its message and its fields",
    { msg: "store opened" },
    "03:04:05 store opened\n",
  ],
  [
    "a warning is marked",
    { level: 40, msg: "store unreachable; retrying", reason: "timeout" },
    "03:04:05 warning: store unreachable; retrying (reason: timeout)\n",
  ],
  [
    "an error shows the message of its cause without the stack",
    { level: 50, msg: "it failed", err: { message: "disk full", stack: "Error: disk full\n at x" } },
    "03:04:05 error: it failed (err: disk full)\n",
  ],
  [
    "a line of the audit log is marked, and shows objects as JSON",
    {
      audit: true,
      event: "admin-act",
      msg: "admin-act",
      act: "pause",
      caller: { name: "ada" },
      transport: null,
    },
    '03:04:05 audit: admin-act (act: pause, caller: {"name":"ada"})\n',
  ],
  [
    "an event of the audit log is not taken for one of the server",
    { audit: true, event: "stopped", msg: "stopped" },
    "03:04:05 audit: stopped\n",
  ],
])("text of the log: %s", (_case, fields, expected) => {
  expect(text(fields)).toBe(expected);
});

it("a line of text shows control characters of a caller as escapes, so that none can forge a line", () => {
  const shown = text({ msg: "login failed", reason: "x\n03:04:06 stopped\u001B[2J\u009B\u2028" });
  expect(shown).toBe("03:04:05 login failed (reason: x\\u000a03:04:06 stopped\\u001b[2J\\u009b\\u2028)\n");
});

it("the start of a server is shown as the addresses to open, its store and its authentication", () => {
  const started = { event: "started", url: "http://127.0.0.1:7420", docs_url: "http://127.0.0.1:7420/docs" };
  expect(
    text({ ...started, store: "embedded", directory: "/data", grpc: "127.0.0.1:7421", auth: "none" }),
  ).toBe(
    [
      "Dashboard: http://127.0.0.1:7420/",
      "API docs: http://127.0.0.1:7420/docs",
      "gRPC: 127.0.0.1:7421",
      "Store: embedded in /data",
      "Authentication: none; every caller that can reach this server is an admin",
      "",
    ].join("\n"),
  );
  expect(text({ ...started, store: "etcd", auth: "required" })).toMatch(
    /Store: etcd\nAuthentication: required\n$/,
  );
});
