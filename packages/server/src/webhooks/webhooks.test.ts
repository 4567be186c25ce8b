import { afterEach, describe, expect, test } from "vitest";
import { temporaryFile } from "../auth/auth.test-kit.js";
import { cleanUp, serve } from "../http/service.test-kit.js";
import { parseServerOptions } from "../parsed-options.js";
import { isSignedBy, Listener } from "./listener.test-kit.js";

afterEach(cleanUp);

const SECRET = "sixteen or more characters";

describe("the webhooks of a server", () => {
  test("a server sends changes of leaders, and findings when they start and end", async () => {
    const listener = await Listener.open();
    const webhookSecretFile = temporaryFile("secret", `${SECRET}\n`);
    const service = await serve({ webhooks: [listener.url], webhookSecretFile });
    await service.campaign("g", "a");
    const changed = await listener.until(({ body }) => body.type === "leader.changed");
    expect(changed.body).toMatchObject({ id: "leader.changed:g:1", event: { leader_node_id: "a", term: 1 } });
    expect(isSignedBy(SECRET, changed)).toBe(true);
    await service.resign("g", "a", 1);
    await listener.until(({ body }) => body.type === "leader.lost");
    await service.post("/v1/groups/g/pause", {});
    const started = await listener.until(({ body }) => body.type === "attention.started");
    expect(started.body["finding"]).toMatchObject({
      kind: "paused_long",
      severity: "note",
      group_id: "g",
      next_step: expect.stringContaining("tenure resume g") as string,
    });
    await service.post("/v1/groups/g/resume", {});
    await listener.until(({ body }) => body.type === "attention.ended");
    await service.untilMetric('tenure_webhook_attempts_total{outcome="delivered"}', 4);
    expect(await service.metric("tenure_webhooks_dropped_total")).toBe(0);
    expect(await service.metric("tenure_webhooks_waiting")).toBe(0);
  });

  test("a receiver that does not answer does not delay elections", async () => {
    const listener = await Listener.open();
    for (let index = 0; index < 100; index++) listener.answers.push(null);
    const webhookSecretFile = temporaryFile("secret", SECRET);
    const service = await serve({ webhooks: [listener.url], webhookSecretFile });
    for (let term = 1; term <= 20; term++) {
      expect((await service.campaign("g", "a")).body).toMatchObject({ is_leader: true });
      await service.resign("g", "a", term);
    }
    await service.untilMetric('leader_changes_total{group_id="g"}', 20);
    expect(await service.metric("tenure_webhooks_waiting")).toBe(40);
  });

  test.each([
    [["http://example.org/hook"], { webhookSecretFile: "s" }, /not encrypted; use https:/],
    [["ftp://example.org/"], { webhookSecretFile: "s" }, /no https: or http: URL/],
    [["https://user:word@example.org/"], { webhookSecretFile: "s" }, /user name or password/],
    [["https://example.org/hook"], {}, /webhookSecretFile is missing/],
    [undefined, { webhookSecretFile: "s" }, /has no effect without webhooks/],
  ])("webhooks %j with %j are refused", (webhooks, more, expected) => {
    expect(() => parseServerOptions({ webhooks, ...more })).toThrow(expected);
  });

  test.each([
    "https://example.org/hook",
    "http://127.0.0.1:80/hook",
    "http://[::1]/hook",
    "http://localhost/h",
  ])("the webhook %s is allowed", (url) => {
    expect(parseServerOptions({ webhooks: [url], webhookSecretFile: "s" }).webhooks?.urls).toEqual([url]);
  });

  test("a webhook that is not encrypted is allowed with insecure", () => {
    const options = { webhooks: ["http://example.org/"], webhookSecretFile: "s", insecure: true };
    expect(parseServerOptions(options).webhooks?.urls).toEqual(["http://example.org/"]);
  });

  test("a secret of fewer than 16 characters is refused", async () => {
    const webhookSecretFile = temporaryFile("secret", "short");
    await expect(serve({ webhooks: ["http://127.0.0.1:9/"], webhookSecretFile })).rejects.toThrow(
      /a webhook secret has at least 16/,
    );
  });
});
