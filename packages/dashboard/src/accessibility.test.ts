/** Every view of the page, checked by axe-core (WCAG 2.2 AA and best practices). */
import { isMissing } from "@tenure/engines";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { Browser, type WatchedPage } from "./browser.test-kit.js";
import { Tenure } from "./tenure.test-kit.js";
import { Tokens } from "./tokens.test-kit.js";
import { AXE, violations } from "./violations.test-kit.js";

const LEASE_MS = 1_800_000;
const LONG = `prod/eu-central-1/tenant-0f8c1d2e-9b7a-4c55-8f00/${"materialised-view-maintainer/".repeat(2)}primary`;

describe.skipIf(isMissing("chromium"))("the dashboard is accessible", () => {
  let tenure: Tenure;
  let browser: Browser;
  let watched: WatchedPage | null = null;

  beforeAll(async () => {
    [tenure, browser] = await Promise.all([Tenure.start(), Browser.launch()]);
    // Leases that outlast the tests.
    for (const group_id of ["billing/nightly", LONG, "paused", "deposed"]) {
      await tenure.ask("POST", "/v1/groups", { group_id, policy: { max_ttl_ms: LEASE_MS } });
    }
    await tenure.elect("billing/nightly", "worker-1", LEASE_MS, { zone: "eu-west-1a", version: "2026.1" });
    await tenure.elect(
      LONG,
      "materialised-view-maintainer-6f9c7b5d8c-xk2v9-0.prod.svc.cluster.local",
      LEASE_MS,
    );
    await tenure.elect("lost", "worker-1", 60_000);
    await tenure.resign("lost", "worker-1", 1);
    await tenure.elect("lost", "worker-2", 500);
    await tenure.elect("paused", "worker-1", LEASE_MS);
    await tenure.act("paused", "/pause", { reason: "a migration" });
    await tenure.elect("deposed", "worker-1", LEASE_MS);
    await tenure.act("deposed", "/step-down", { reason: "its disk is failing", ban_ms: 60_000 });
    await tenure.ask("POST", "/v1/groups", { group_id: "new", allowed_nodes: ["a", "b"] });
  });
  // A candidate, whose wait ends with each test or soon after.
  beforeEach(() => {
    const campaign = { node_id: "worker-2", lease_ttl_ms: 30_000, wait_ms: 30_000 };
    void tenure.act("billing/nightly", "/campaign", campaign).catch(() => {});
  });
  afterEach(async () => {
    await watched?.close();
    watched = null;
  });
  afterAll(async () => {
    await browser?.close();
    await tenure?.close();
  });

  const open = async (route: string, url: string = tenure.url) => {
    watched = await browser.open("about:blank");
    await watched.page.addInitScript(AXE);
    await watched.page.goto(`${url}/${route}`);
    return watched;
  };

  it.each([
    ["the list of groups", "#/", ".spacer .row .lease"],
    ["a list without a match", "#/?q=nothing", ".empty"],
    ["the overview", "#/overview", ".plots .line circle"],
    ["the activity page", "#/activity", "h1"],
    ["the page of a led group", "#/groups/billing%2Fnightly", ".members tbody tr:nth-child(2)"],
    ["the page of a vacant group", "#/groups/lost", "[data-term='2'][data-ended='expired']"],
    ["the page of a paused group", "#/groups/paused", ".facts .wide"],
    ["the page of a deposed leader", "#/groups/deposed", ".facts .wide"],
    ["the page of a group with a long id", `#/groups/${encodeURIComponent(LONG)}`, ".members tbody tr"],
    ["the page of a group that nobody led", "#/groups/new", ".policy"],
    ["the page of a group that does not exist", "#/groups/no%2Fsuch", ".empty h2"],
  ])("%s has no violation", async (_, route, ready) => {
    const opened = await open(route);
    await opened.page.locator(ready).first().waitFor();
    expect(await violations(opened)).toEqual([]);
  });

  it.each(["Step down", "Transfer", "Pause", "Edit policy", "Delete"])(
    "the dialog of %j has no violation",
    async (button) => {
      const opened = await open("#/groups/billing%2Fnightly");
      const { page } = opened;
      await page.locator(".members tbody tr:nth-child(2)").waitFor();
      await page.getByRole("button", { name: button }).click();
      const dialog = page.getByRole("dialog");
      await dialog.waitFor();
      for (const box of await dialog.getByRole("checkbox").all())
        if (await box.isEnabled()) await box.check();
      expect(await violations(opened)).toEqual([]);
    },
  );

  it.each([
    ["of a new group", "Create group"],
    ["of keyboard shortcuts", "Keyboard shortcuts"],
  ])("the dialog %s has no violation", async (_, button) => {
    const opened = await open("#/");
    await opened.page.getByRole("button", { name: button }).click();
    await opened.page.getByRole("dialog").waitFor();
    expect(await violations(opened)).toEqual([]);
  });

  it("the sign-in page, and the empty list after it, have no violation and name this server", async () => {
    const tokens = new Tokens();
    const closed = await Tenure.start(tokens.args);
    try {
      const opened = await open("", closed.url);
      const { page } = opened;
      await page.getByLabel("Token").waitFor();
      expect(await violations(opened)).toEqual([]);
      await page.setViewportSize({ width: 1024, height: 900 });
      await page.getByLabel("Token").fill(tokens.admin);
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.getByText("There are no groups yet").waitFor();
      expect(await violations(opened)).toEqual([]);
      const curl = await page.getByLabel("With curl").innerText();
      expect(curl).toContain(`${closed.url}/v1/groups/billing/campaign`);
      expect(curl).toContain("$TENURE_TOKEN");
      await opened.shoot("empty");
    } finally {
      await closed.close();
      tokens.close();
    }
  });

  it("the list and a group's page have no violation while the connection is lost", async () => {
    const opened = await open("#/");
    const { page } = opened;
    await page.locator(".spacer .row .lease").first().waitFor();
    await tenure.kill();
    await page.getByRole("alert").getByText("Connection lost at").waitFor();
    expect(await violations(opened)).toEqual([]);
    await tenure.start();
    await page.getByRole("alert").getByText("Connection lost at").waitFor({ state: "detached" });
    await page.goto(`${tenure.url}/#/groups/billing%2Fnightly`);
    await page.locator("[data-term='1']").waitFor();
    await tenure.kill();
    await page.getByRole("alert").getByText("Connection lost at").waitFor();
    expect(await violations(opened)).toEqual([]);
    await tenure.start();
  });
});
