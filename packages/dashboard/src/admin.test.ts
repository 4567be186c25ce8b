/** What an admin may do on the page, and others may not. */
import { isMissing } from "@tenure/engines";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { Browser, type WatchedPage } from "./browser.test-kit.js";
import { Tenure } from "./tenure.test-kit.js";
import { Tokens } from "./tokens.test-kit.js";

/** The browser logs a refused request, which the page sent on purpose. */
const REFUSED = /^Failed to load resource: the server responded with a status of (?:401|403|409)/;

describe.skipIf(isMissing("chromium"))("actions of an admin on the dashboard", () => {
  let tokens: Tokens;
  let tenure: Tenure;
  let browser: Browser;
  let watched: WatchedPage;

  beforeAll(async () => {
    tokens = new Tokens();
    [tenure, browser] = await Promise.all([Tenure.start(tokens.args), Browser.launch()]);
  });
  afterEach(async () => {
    expect(watched.errors.filter((text) => !REFUSED.test(text))).toEqual([]);
    expect(watched.foreign).toEqual([]);
    await watched.close();
  });
  afterAll(async () => {
    await browser?.close();
    await tenure?.close();
    tokens.close();
  });

  const admin = (path: string, body?: object) =>
    tenure.ask(body === undefined ? "GET" : "POST", path, body, tokens.admin);
  const elect = (group: string, node: string, more: object = {}) =>
    admin(`/v1/groups/${group}/campaign`, { node_id: node, lease_ttl_ms: 30_000, ...more });
  /** Whole lines only: they come through a pipe, a while after the event. */
  const audit = () =>
    tenure.log
      .split("\n")
      .slice(0, -1)
      .filter((line) => line.includes('"event":"admin-act"'))
      .map((line) => JSON.parse(line) as Record<string, unknown>);

  const signIn = async (token: string, group: string) => {
    watched = await browser.open(`${tenure.url}/#/groups/${group}`);
    const { page } = watched;
    await page.getByLabel("Token").fill(token);
    await page.getByRole("button", { name: "Sign in" }).click();
    return page;
  };

  it("a wrong token is refused with the service's message", async () => {
    const page = await signIn("not-the-token-at-all", "any");
    await page.getByRole("alert").getByText("token").waitFor();
    expect(await page.getByLabel("Token").isVisible()).toBe(true);
    await watched.shoot("sign-in");
  });

  it("a user whose token is no longer accepted is asked to sign in again at once", async () => {
    await elect("expiring", "worker-1");
    const page = await signIn(tokens.admin, "expiring");
    await page.getByRole("button", { name: "Step down" }).waitFor();
    const refused = { ok: false, error: "UNAUTHENTICATED", message: "the token has expired" };
    await page.route("**/v1/**", (route) => route.fulfill({ status: 401, json: refused }));
    await page.getByRole("alert").getByText("The token has expired.").waitFor();
    await page.unroute("**/v1/**");
    await page.getByLabel("Token").fill(tokens.admin);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("button", { name: "Step down" }).waitFor();
  });

  it("an admin makes the leader step down, with a reason that reaches the audit log", async () => {
    await elect("stepped", "worker-1");
    const page = await signIn(tokens.admin, "stepped");
    await page.getByRole("button", { name: "Step down" }).click();
    const dialog = page.getByRole("dialog");
    const confirm = dialog.getByRole("button", { name: "Step down" });
    expect(await confirm.isDisabled()).toBe(true);
    await dialog.getByLabel("Reason").fill("disk is failing");
    await dialog.getByLabel("Do not wait").check();
    await watched.shoot("step-down");
    await confirm.click();
    await page.locator('[data-term="1"][data-ended="deposed"]').waitFor();
    await expect
      .poll(() => audit().at(-1))
      .toMatchObject({
        act: "step-down",
        group_id: "stepped",
        details: { reason: "disk is failing", force: true },
        outcome: "done",
      });
    // A token is sent as a header, and is never in a URL.
    expect(watched.requests.map((request) => request.url()).join(" ")).not.toContain(tokens.admin);
    expect(await page.evaluate(() => [location.href, document.cookie, Object.keys(localStorage)])).toEqual([
      `${tenure.url}/#/groups/stepped`,
      "",
      [],
    ]);
  });

  it("a transfer to a node that is still preparing has to be allowed explicitly", async () => {
    await elect("warming", "worker-1");
    const waiting = elect("warming", "worker-2", { wait_ms: 20_000, ready: false });
    const page = await signIn(tokens.admin, "warming");
    await page.getByRole("row", { name: "worker-2" }).getByText("Preparing").waitFor();
    await page.getByRole("button", { name: "Transfer" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Reason").fill("drill");
    await dialog.getByText("worker-2 is still preparing.").waitFor();
    await dialog.getByLabel("Transfer although the successor is not ready").check();
    await dialog.getByRole("button", { name: "Transfer to worker-2" }).click();
    const renew = async () =>
      (await admin("/v1/groups/warming/renew", { node_id: "worker-1", term: 1, extend_by_ms: 30_000 })).body[
        "transfer_to"
      ];
    await expect.poll(renew).toBe("worker-2");
    await admin("/v1/groups/warming/resign", { node_id: "worker-1", term: 1 });
    await dialog.waitFor({ state: "detached" });
    expect((await waiting).body).toMatchObject({ is_leader: true, leader: { node_id: "worker-2" } });
  });

  it("an admin pauses, resumes, transfers and edits the policy", async () => {
    await elect("kept", "worker-1");
    const page = await signIn(tokens.admin, "kept");
    const act = async (button: string, fill: () => Promise<void>, confirm: string) => {
      await page.getByRole("button", { name: button }).click();
      await fill();
      await page.getByRole("dialog").getByLabel("Reason").fill(`${button} it`);
      await page.getByRole("dialog").getByRole("button", { name: confirm }).click();
      await page.getByRole("dialog").waitFor({ state: "detached" });
    };
    await act("Pause", () => page.getByLabel("For").fill("5m"), "Pause");
    await page.locator(".group-head .badge").getByText("paused").waitFor();
    await act("Resume", async () => {}, "Resume");
    await page.locator(".group-head .badge").getByText("led").waitFor();
    await act(
      "Edit policy",
      async () => {
        await page.getByLabel("Longest lease").fill("45s");
        await watched.shoot("policy");
      },
      "Change policy",
    );
    await page.getByText("500 ms to 45 s").waitFor();

    const waiting = elect("kept", "worker-2", { wait_ms: 20_000 });
    await page.getByRole("rowheader", { name: "worker-2" }).waitFor();
    const transferred = act(
      "Transfer",
      () => page.getByLabel("Successor").fill("worker-2"),
      "Transfer to worker-2",
    );
    // The leader learns of it at its next renewal, and yields.
    const renew = async () =>
      (await admin("/v1/groups/kept/renew", { node_id: "worker-1", term: 1, extend_by_ms: 30_000 })).body[
        "transfer_to"
      ];
    await expect.poll(renew).toBe("worker-2");
    await admin("/v1/groups/kept/resign", { node_id: "worker-1", term: 1 });
    await transferred;
    expect((await waiting).body).toMatchObject({ is_leader: true, leader: { node_id: "worker-2", term: 2 } });
    await page.locator('[data-term="1"][data-ended="transferred"]').waitFor();

    const acts = () =>
      audit()
        .filter((line) => line["group_id"] === "kept")
        .map(({ act: name, details }) => [name, (details as { reason?: string }).reason]);
    await expect.poll(acts).toEqual([
      ["pause", "Pause it"],
      ["resume", "Resume it"],
      ["update-group", "Edit policy it"],
      ["transfer", "Transfer it"],
    ]);
  });

  it("a user who is not an admin sees the group without actions, and the service refuses them anyway", async () => {
    await elect("seen", "worker-1");
    const observer = tokens.jwt({ sub: "olivia", role: "observer", groups: ["*"] });
    const page = await signIn(observer, "seen");
    await page.getByText("Only an admin may act on this group; you are olivia, an observer").waitFor();
    expect(await page.locator(".identity").innerText()).toBe("olivia · observer");
    expect(await page.getByRole("button", { name: "Step down" }).count()).toBe(0);
    expect(await page.locator(".facts").innerText()).toContain("worker-1");
    const answer = await tenure.act("seen", "/step-down", { reason: "test" }, observer);
    expect([answer.status, answer.body["error"]]).toEqual([403, "UNAUTHORIZED"]);

    // A page that believes its user to be an admin is still refused.
    await page.route("**/v1/whoami", (route) => route.fulfill({ json: { name: "olivia", role: "admin" } }));
    await page.reload();
    await page.getByRole("button", { name: "Step down" }).click();
    await page.getByRole("dialog").getByLabel("Reason").fill("let me");
    await page.getByRole("dialog").getByRole("button", { name: "Step down" }).click();
    await page.getByRole("dialog").getByText("Olivia is not an admin.").waitFor();
    const { body } = await admin("/v1/groups/seen/leader");
    expect(body).toMatchObject({ leader: { node_id: "worker-1", term: 1 } });
  });
});
