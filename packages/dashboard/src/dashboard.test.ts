/** The page in a real browser, with a real service. */
import { isMissing } from "@tenure/engines";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { Browser, type WatchedPage } from "./browser.test-kit.js";
import { faintTexts } from "./contrast.test-kit.js";
import { Tenure } from "./tenure.test-kit.js";

/** What the browser itself logs when a server is gone; the page cannot prevent it. */
const GONE =
  /^Failed to load resource: net::ERR_(?:CONNECTION_REFUSED|CONNECTION_RESET|INCOMPLETE_CHUNKED_ENCODING|EMPTY_RESPONSE)$/;

describe.skipIf(isMissing("chromium"))("the dashboard", () => {
  let tenure: Tenure;
  let browser: Browser;
  let watched: WatchedPage | null = null;

  beforeAll(async () => {
    [tenure, browser] = await Promise.all([Tenure.start(), Browser.launch()]);
  });
  afterEach(async () => {
    await watched?.close();
    watched = null;
  });
  afterAll(async () => {
    await browser?.close();
    await tenure?.close();
  });

  const open = async (route = "") => {
    watched = await browser.open(`${tenure.url}/${route}`);
    return watched;
  };
  const row = (page: WatchedPage["page"], groupId: string) =>
    page.getByRole("row").filter({ has: page.getByRole("link", { name: groupId, exact: true }) });

  it("the dashboard shows a change within a second of the election", async () => {
    await tenure.elect("billing/nightly", "worker-1");
    const { page, errors, foreign } = await open();
    await row(page, "billing/nightly").getByText("worker-1").waitFor();
    expect(await row(page, "billing/nightly").innerText()).toContain("led");

    // The page itself records when it shows the new leader; both clocks are those of this machine.
    const shown = page.evaluate(
      () =>
        new Promise<number>((resolve) => {
          const look = (): void => {
            if (document.querySelector(".spacer")?.textContent?.includes("worker-2") === true)
              resolve(Date.now());
            else requestAnimationFrame(look);
          };
          look();
        }),
    );
    await tenure.resign("billing/nightly", "worker-1", 1);
    const electedAtMs = Date.now();
    expect(await tenure.elect("billing/nightly", "worker-2")).toBe(2);
    expect((await shown) - electedAtMs).toBeLessThan(1000);

    await tenure.elect("mail/sender", "worker-3");
    await row(page, "mail/sender").getByText("worker-3").waitFor();
    expect([errors, foreign]).toEqual([[], []]);
  });

  it("the dashboard finds groups by text and by state, and distinguishes led, vacant, paused and held back", async () => {
    const held = { group_id: "states/held", policy: { takeover_delay_ms: 600_000 } };
    expect(await tenure.ask("POST", "/v1/groups", held)).toMatchObject({ status: 201 });
    for (const id of ["led", "vacant", "paused", "deposed"]) await tenure.elect(`states/${id}`, "n", 60_000);
    await tenure.elect("states/held", "n", 500);
    await tenure.resign("states/vacant", "n", 1);
    await tenure.act("states/paused", "/pause", {});
    await tenure.act("states/deposed", "/step-down", { reason: "test" });
    const { page, errors } = await open();
    await page.getByRole("searchbox").fill("STATES/");
    for (const [id, state] of [
      ["led", "led"],
      ["vacant", "vacant"],
      ["paused", "paused"],
      ["held", "held back"],
      ["deposed", "held back"],
    ] as const) {
      await row(page, `states/${id}`).locator(".badge").getByText(state, { exact: true }).waitFor();
    }
    await page.getByRole("button", { name: /^held back/ }).click();
    await row(page, "states/vacant").waitFor({ state: "detached" });
    expect(await page.locator(".spacer .row").count()).toBe(2);
    // The reason is on the group's own page, and a user who comes back finds the list as it was left.
    await row(page, "states/deposed").getByRole("link").click();
    await page.locator(".facts").getByText("asked to step down").waitFor();
    await watched?.shoot("deposed");
    await page.goBack();
    await row(page, "states/held").waitFor();
    expect(await page.getByRole("searchbox").inputValue()).toBe("STATES/");
    expect(await page.locator(".spacer .row").count()).toBe(2);
    await page.getByRole("searchbox").fill("states no-such-word");
    await page.getByText("No group matches.").waitFor();
    expect(errors).toEqual([]);
  });

  it("the dashboard draws the lease as a bar that drains, and fills it again after a renewal", async () => {
    const term = await tenure.elect("leases/one", "n", 5000);
    const { page } = await open();
    const bar = row(page, "leases/one").locator(".lease-fill");
    await bar.waitFor();
    const share = () =>
      bar.evaluate(
        (element) => element.getBoundingClientRect().width / (element.parentElement?.clientWidth ?? 1),
      );
    await expect.poll(share).toBeLessThan(0.6);
    const renewal = { node_id: "n", term, extend_by_ms: 5000 };
    expect(await tenure.act("leases/one", "/renew", renewal)).toMatchObject({ status: 200 });
    await expect.poll(share).toBeGreaterThan(0.7);
  });

  it("the dashboard draws the timeline of three failovers, with gaps and how each term ended", async () => {
    const group = "payments";
    await tenure.elect(group, "node-a", 30_000, { zone: "eu-west-1", build: 412 });
    const { page, errors, foreign } = await open(`#/groups/${group}`);
    await page.locator('[data-term="1"]').waitFor();
    // Handed over by a resign, by an expiry, and by an operator.
    await tenure.resign(group, "node-a", 1);
    await tenure.elect(group, "node-b", 500);
    await page.locator('[data-term="2"][data-ended="expired"]').waitFor();
    await tenure.elect(group, "node-c", 30_000, { zone: "eu-west-2" });
    await tenure.act(group, "/step-down", { reason: "test", force: true });
    await tenure.elect(group, "node-a", 30_000);
    await page.locator('[data-term="4"]').waitFor();

    const { body } = await tenure.ask("GET", `/v1/groups/${group}/history`);
    const times = (body["events"] as { ts_ms: number }[]).map(({ ts_ms }) => ts_ms);
    expect(times).toHaveLength(7);
    const drawn = await page
      .locator(".timeline svg > g[data-term], .timeline svg > g[data-gap]")
      .evaluateAll((marks) =>
        marks.map((mark) => {
          const { term, ended, gap } = (mark as SVGElement).dataset;
          return gap === undefined ? `${term} ${ended}` : `gap ${gap}`;
        }),
      );
    const gapAfter = (i: number) =>
      (times[i + 1] ?? 0) > (times[i] ?? 0) ? [`gap ${(times[i + 1] ?? 0) - (times[i] ?? 0)}`] : [];
    expect(drawn).toEqual([
      "1 resigned",
      ...gapAfter(1),
      "2 expired",
      ...gapAfter(3),
      "3 deposed",
      ...gapAfter(5),
      "4 no",
    ]);
    // In words too, with the operator.
    const history = await page.getByRole("list", { name: "Changes, newest first" }).innerText();
    expect(history).toMatch(/node-a\s+won term 4[\s\S]*node-c\s+lost term 3: stepped down, requested by/);
    expect(await page.locator(".failover").count()).toBe(3);
    await page.getByRole("rowheader", { name: "node-a" }).getByText("eu-west-1").waitFor();
    await watched?.shoot("group");
    expect([errors, foreign]).toEqual([[], []]);
  });

  it("the dashboard plots elections, failover times, renew latency, the store and open watches", async () => {
    const { page, errors, foreign } = await open("#/overview");
    const watches = page.locator("figure").filter({ hasText: "Open at this server" });
    await expect
      .poll(() => watches.innerText())
      .toMatch(/^Open at this server\s+1\s*watches\s+0\s*waiting campaigns/);
    const term = await tenure.elect("plots", "a");
    for (let i = 0; i < 20; i++)
      await tenure.act("plots", "/renew", { node_id: "a", term, extend_by_ms: 30_000 });
    await tenure.resign("plots", "a", term);
    await tenure.elect("plots", "b");
    for (const title of ["Elections", "Failover time", "Renew latency", "Store"]) {
      const heading = page.getByRole("heading", { name: title, exact: true });
      const path = page.locator("figure").filter({ has: heading }).locator(".line-0 path");
      await expect.poll(() => path.getAttribute("d")).toMatch(/^M/);
    }
    await watched?.shoot("overview");
    expect([errors, foreign]).toEqual([[], []]);
  });

  it.each(["", "#/overview", "#/groups/payments"])(
    "the dashboard has enough text contrast at /%s, light or dark",
    async (route) => {
      const { page } = await open(route);
      await page
        .locator(route === "" ? ".spacer .row a" : ".card .axis")
        .first()
        .waitFor();
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme });
        expect([colorScheme, await page.evaluate(faintTexts)]).toEqual([colorScheme, []]);
      }
    },
  );

  it("the dashboard can be read and used by keyboard", async () => {
    const { page } = await open();
    const first = page.locator(".spacer .row a").first();
    await first.waitFor();
    await page.keyboard.press("/");
    expect(await page.evaluate(() => document.activeElement?.getAttribute("type"))).toBe("search");
    await first.focus();
    await page.keyboard.press("ArrowDown");
    const second = (await page.locator('[data-index="1"] a').getAttribute("aria-label")) ?? "";
    await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toBe(second);
    await page.keyboard.press("Enter");
    await expect.poll(() => page.evaluate(() => document.activeElement?.tagName)).toBe("H1");
    expect(await page.title()).toBe(`${second} · Tenure`);
  });

  it("the dashboard says at once that the connection is lost, keeps the last state, and resumes with its cursor", async () => {
    await tenure.elect("kept/one", "before", 60_000);
    const { page, errors, requests, foreign } = await open();
    await row(page, "kept/one").getByText("before").waitFor();
    await expect.poll(() => row(page, "kept/one").locator(".c-members").innerText()).toMatch(/^1/);
    await watched?.shoot("groups");

    await tenure.kill();
    const killedAtMs = Date.now();
    await page.getByRole("alert").getByText("Connection lost at").waitFor();
    expect(Date.now() - killedAtMs).toBeLessThan(1000);
    expect(await row(page, "kept/one").innerText()).toContain("before");
    expect(await page.locator("main").getAttribute("class")).toBe("stale");
    await watched?.shoot("lost");
    const before = requests.length;

    await tenure.start();
    await page.getByRole("alert").getByText("Connection lost at").waitFor({ state: "detached" });
    const resumed = requests.slice(before).filter((request) => request.url().endsWith("/v1/watch"));
    expect(Number(resumed.at(-1)?.headers()["last-event-id"])).toBeGreaterThan(0);
    await tenure.act("kept/one", "/step-down", { reason: "test", force: true });
    await tenure.elect("kept/one", "after", 60_000);
    await row(page, "kept/one").getByText("after").waitFor();
    expect(await page.locator("main").getAttribute("class")).toBeNull();
    expect(errors.filter((text) => !GONE.test(text))).toEqual([]);
    expect(foreign).toEqual([]);
  });
});
