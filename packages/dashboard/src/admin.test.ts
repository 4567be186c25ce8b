/** What an admin may do on the page, and others may not. */
import { isMissing } from "@tenure/engines";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { Browser, type WatchedPage } from "./browser.test-kit.js";
import { Tenure } from "./tenure.test-kit.js";
import { Tokens } from "./tokens.test-kit.js";

/** The browser logs a refused request, which the page sent on purpose. */
const REFUSED = /^Failed to load resource: the server responded with a status of (?:401|403|404|409)/;

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
    await page.getByText("Sign in to continue.").waitFor();
    await page.getByLabel("Token").fill(token);
    await page.getByRole("button", { name: "Sign in" }).click();
    return page;
  };

  it("a wrong token is refused with the service's message", async () => {
    const page = await signIn("not-the-token-at-all", "any");
    await page.getByRole("alert").getByText("That token is not valid.").waitFor();
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
    // Without its reason it is not sent, and the browser points at the field.
    await confirm.click();
    expect(await dialog.getByLabel("Reason").evaluate((field) => field.matches(":invalid"))).toBe(true);
    await dialog.getByLabel("Reason").fill("disk is failing");
    expect(await dialog.locator(".danger").count()).toBe(0);
    await dialog.getByLabel("do not wait for the lease").check();
    await dialog.getByText("Two nodes may act as leader at the same time.").waitFor();
    await watched.shoot("step-down");
    await dialog.getByRole("button", { name: "Step down at once" }).click();
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
    // Nothing is wrong before something was tried.
    expect(await dialog.locator(".problem").textContent()).toBe("");
    await dialog.getByRole("button", { name: "Transfer to worker-2" }).click();
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
        expect(await page.getByLabel("Longest lease").inputValue()).toBe("1m");
        expect(await page.getByRole("dialog").locator(".problem").textContent()).toBe("");
        await page.getByLabel("Longest lease").fill("45s");
        await page.getByLabel("Only these nodes may win").check();
        await page.getByLabel("Allowed nodes").fill("worker-1, worker-2");
        await watched.shoot("policy");
      },
      "Change policy",
    );
    await page.getByText("500 ms to 45 s").waitFor();
    await page.locator(".policy").getByText("worker-1, worker-2").waitFor();

    const waiting = elect("kept", "worker-2", { wait_ms: 20_000, metadata: { zone: "eu-west-1" } });
    await page.getByRole("rowheader", { name: "worker-2" }).waitFor();
    const transferred = act(
      "Transfer",
      async () => {
        const offered = await page.getByLabel("Successor").locator("option").allInnerTexts();
        expect(offered).toEqual([
          expect.stringMatching(/^worker-2 · candidate, ready, seen .* · zone eu-west-1$/),
        ]);
        await page.getByLabel("Timeout").fill("20s");
      },
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

  it("a pause and a ban show who, why and since when, in the facts, the history and the activity", async () => {
    await elect("shop%2Forders", "worker-1");
    await admin("/v1/groups/shop%2Forders/step-down", {
      reason: "disk is failing",
      force: true,
      ban_ms: 600_000,
    });
    const page = await signIn(tokens.admin, "shop%2Forders");
    await page.locator(".facts").getByText("worker-1 may not win for").waitFor();
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByRole("dialog").getByLabel("Reason").fill("database migration");
    await page.getByRole("dialog").getByRole("button", { name: "Pause" }).click();
    const facts = page.locator(".facts");
    await facts.getByText("“database migration”").waitFor();
    expect(await facts.innerText()).toMatch(/until resumed, by admin-token since [\d:]+ \(.* ago\)/);
    expect(await facts.innerText()).toContain("“disk is failing”");
    const history = await page.getByRole("list", { name: "Changes, newest first" }).innerText();
    expect(history).toMatch(
      /admin-token paused the group until resumed\s+“database migration”[\s\S]*admin-token made worker-1 step down at once, banned for 10 min\s+“disk is failing”/,
    );
    await watched.shoot("paused");

    await page.getByRole("link", { name: "Activity" }).click();
    await page.getByText("paused the group until resumed").first().waitFor();
    await page.getByRole("searchbox", { name: "Group" }).fill("shop/orders");
    const acts = page.locator(".acts-list li");
    await expect.poll(() => acts.count()).toBe(2);
    expect(new URL(page.url()).hash).toBe("#/activity?group=shop%2Forders");
    await watched.shoot("activity");
    await page.getByRole("searchbox", { name: "Operator" }).fill("jane");
    await page.getByText("No act matches.").waitFor();
    await page.reload();
    await page.getByText("No act matches.").waitFor();
    await page.getByRole("searchbox", { name: "Operator" }).fill("admin-token");
    await expect.poll(() => acts.count()).toBe(2);
    // The overview has them too.
    await page.getByRole("link", { name: "Overview" }).click();
    await page.locator(".recent").getByText("“database migration”").first().waitFor();
  });

  it("the activity page shows older acts on request, each act once, also those of the same millisecond", async () => {
    const ids = Array.from({ length: 120 }, (_, i) => `older/${i}`);
    await Promise.all(ids.map((group_id) => admin("/v1/groups", { group_id })));
    const page = await signIn(tokens.admin, "older%2F0");
    await page.getByText("created the group").waitFor();
    await page.getByRole("link", { name: "Activity" }).click();
    const acts = page.locator(".acts-list li").filter({ hasText: "older/" });
    await expect.poll(() => acts.count()).toBe(50);
    await page.getByRole("button", { name: "Show older" }).click();
    await expect.poll(() => acts.count()).toBe(100);
    // The first page moves on; the pages that were read stay.
    await admin("/v1/groups", { group_id: "older/last" });
    await page.locator(".acts-list").getByText("older/last").waitFor();
    await page.getByRole("button", { name: "Show older" }).click();
    await expect.poll(() => acts.count()).toBe(121);
  });

  it("an admin creates a group, reads its commands, and deletes it", async () => {
    const page = await signIn(tokens.admin, "made%2Fhere");
    await page.getByRole("heading", { name: "This group does not exist (yet)" }).waitFor();
    await watched.shoot("missing");
    await page.getByRole("button", { name: "Create group" }).click();
    await page.getByLabel("Longest lease").fill("30s");
    await page.getByLabel("Only these nodes may win").check();
    await page.getByLabel("Allowed nodes").fill("a b");
    await watched.shoot("create");
    await page.getByRole("dialog").getByRole("button", { name: "Create", exact: true }).click();
    await page.getByText("500 ms to 30 s").waitFor();
    await page.locator(".policy").getByText("a, b").waitFor();
    expect(await page.locator(".group-head .badge").innerText()).toContain("never led");

    // A button that cannot be used says why.
    await page.getByRole("button", { name: "Step down" }).click({ force: true });
    await page
      .locator(".banner")
      .getByText("The group has no leader. There is no node to step down.")
      .waitFor();

    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByLabel("For").fill("5m");
    await page.getByLabel("Reason").fill("it's late");
    const copied = (what: string) => async () => {
      await page.getByTitle(what).click();
      return page.evaluate(() => navigator.clipboard.readText());
    };
    await expect
      .poll(copied("Copy as a tenure command"))
      .toBe(
        String.raw`tenure pause made/here --for 5m --reason 'it'\''s late' --server ${tenure.url} --token-file TOKEN_FILE`,
      );
    await page.getByRole("dialog").getByText("Copy as curl").waitFor();
    await expect.poll(copied("Copy as a curl command")).toContain('-H "authorization: Bearer $TENURE_TOKEN"');
    await page.keyboard.press("Escape");

    await page.getByRole("button", { name: "Delete" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Delete" }).click();
    await dialog.getByText("Type made/here to confirm.", { exact: true }).waitFor();
    await dialog.getByLabel("Type made/here to confirm").fill("made/here");
    await dialog.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("heading", { name: "This group does not exist (yet)" }).waitFor();
    expect((await admin("/v1/groups/made%2Fhere")).status).toBe(404);
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
