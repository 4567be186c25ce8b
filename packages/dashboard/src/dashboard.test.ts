/** The page in a real browser, with a real service. */
import { isChaos, isMissing } from "@tenure/engines";
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

  it("the dashboard shows a change without a reload", async () => {
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
    const shownAtMs = await shown;
    if (isChaos) expect(shownAtMs - electedAtMs).toBeLessThan(1000);

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
      ["held", "held back, vacant"],
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
    await page.locator(".members").getByText("leader", { exact: true }).waitFor();
    // A deposed leader is no successor of itself.
    await page.getByRole("button", { name: "Transfer" }).press("Enter");
    await page.locator(".banner.warn").getByText("No other node waits for the leadership").waitFor();
    await watched?.shoot("deposed");
    await page.goBack();
    await row(page, "states/held").waitFor();
    expect(await page.getByRole("searchbox").inputValue()).toBe("STATES/");
    expect(await page.locator(".spacer .row").count()).toBe(2);
    await page.getByRole("searchbox").fill("states no-such-word");
    await page.getByText("No group matches.").waitFor();
    expect(errors).toEqual([]);
  });

  it("the dashboard keeps search, state and order in the address, and lists trouble first", async () => {
    await tenure.elect("order/a-calm", "n", 60_000);
    await tenure.elect("order/b-calm", "n", 60_000);
    await tenure.elect("order/z-lost", "n", 60_000);
    await tenure.resign("order/z-lost", "n", 1);
    await tenure.elect("order/y-paused", "n", 60_000);
    await tenure.resign("order/y-paused", "n", 1);
    await tenure.act("order/y-paused", "/pause", {});
    await tenure.ask("POST", "/v1/groups", { group_id: "order/x-new" });
    const { page, errors } = await open();
    await page.getByRole("searchbox").fill("order/");
    const ids = () =>
      page
        .locator(".spacer .row")
        .evaluateAll((rows) =>
          rows
            .toSorted((a, b) => Number(a.getAttribute("data-index")) - Number(b.getAttribute("data-index")))
            .map((each) => each.querySelector("a")?.getAttribute("aria-label")?.replace("order/", "")),
        );
    await expect.poll(ids).toEqual(["z-lost", "y-paused", "x-new", "a-calm", "b-calm"]);
    expect(await row(page, "order/y-paused").locator(".badge").innerText()).toBe("paused, vacant");
    expect(await row(page, "order/x-new").locator(".badge").innerText()).toBe("never led");
    await page.getByRole("button", { name: "Group", exact: true }).click();
    await page.getByRole("button", { name: "Group", exact: true }).click();
    expect(await page.getByRole("columnheader", { name: "Group" }).getAttribute("aria-sort")).toBe(
      "descending",
    );
    const reversed = ["z-lost", "y-paused", "x-new", "b-calm", "a-calm"];
    await expect.poll(ids).toEqual(reversed);
    await page.getByRole("button", { name: /^led/ }).click();
    await expect.poll(ids).toEqual(["b-calm", "a-calm"]);
    expect(new URL(page.url()).hash).toBe("#/?q=order%2F&sort=-group&state=led");
    await page.reload();
    await expect.poll(ids).toEqual(["b-calm", "a-calm"]);
    // The leases of two rows can be compared: their tracks are equally long.
    const tracks = await page
      .locator(".lease-track")
      .evaluateAll((all) => all.map((each) => (each as HTMLElement).offsetWidth));
    expect(new Set(tracks).size).toBe(1);
    // And the card ends with a whole row.
    await page.getByRole("searchbox").fill("");
    const cut = await page
      .locator(".viewport")
      .evaluate(
        (element) => (element.clientHeight - (element.querySelector(".thead")?.clientHeight ?? 0)) % 46,
      );
    expect(cut).toBeLessThanOrEqual(1);
    expect(errors).toEqual([]);
  });

  it("the dashboard lists what needs attention, and nothing while all is well", async () => {
    const own = await Tenure.start();
    try {
      watched = await browser.open(`${own.url}/#/overview`);
      const { page, errors } = watched;
      await page.getByText("Nothing: every check passed.").waitFor();
      // More often than a rolling restart.
      for (let i = 0; i < 25; i++) await own.resign("flaps", "n", await own.elect("flaps", "n"));
      await own.elect("flaps", "n", 60_000);
      await own.elect("lost", "n", 500);
      const finding = (groupId: string) => page.locator(".findings li").filter({ hasText: groupId });
      await finding("lost").getByText("Problem").waitFor();
      await finding("flaps").getByText("is flapping").waitFor();
      await watched.shoot("attention");
      // The same finding on the group's own page, as a state of the group, and above the list.
      await finding("flaps").getByRole("link").click();
      await page.locator(".group-head .badge").getByText("flapping").waitFor();
      await page.locator(".findings").getByText("Is flapping").waitFor();
      await page.getByRole("link", { name: "Groups", exact: true }).click();
      await row(page, "flaps").locator(".badge").getByText("flapping").waitFor();
      await page.getByRole("link", { name: "2 findings need attention" }).click();
      await page.getByRole("heading", { name: "Overview" }).waitFor();
      expect(errors).toEqual([]);
    } finally {
      await own.close();
    }
  });

  it("the dashboard remembers the theme that its user picked", async () => {
    const { page } = await open();
    const ground = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    const light = await ground();
    await page.getByLabel("Theme").selectOption("dark");
    const dark = await ground();
    expect(dark).not.toBe(light);
    await page.reload();
    await page.getByLabel("Theme").waitFor();
    expect(await ground()).toBe(dark);
    await page.getByLabel("Theme").selectOption("system");
    expect(await ground()).toBe(light);
  });

  it("the marks of a timeline are read by keyboard and by touch", async () => {
    await tenure.elect("marks", "node-a", 500);
    await expect.poll(async () => (await tenure.ask("GET", "/v1/groups/marks")).body["leader"]).toBeNull();
    await tenure.elect("marks", "node-b", 60_000);
    const { page } = await open("#/groups/marks?range=all");
    await page.locator('[data-term="2"]').waitFor();
    // The failover began when the old leader was last heard from, not when its lease ended.
    const { body } = await tenure.ask("GET", "/v1/groups/marks/history");
    const [, lost, won] = body["events"] as { ts_ms: number; silent_ms?: number }[];
    const silentMs = lost?.silent_ms ?? 0;
    expect(silentMs).toBeGreaterThanOrEqual(500);
    const tookMs = (won?.ts_ms ?? 0) - (lost?.ts_ms ?? 0) + silentMs;
    expect(await page.locator(".failover").getAttribute("data-took")).toBe(String(tookMs));
    expect(await page.locator('[data-term="1"] .silent').getAttribute("data-silent")).toBe(String(silentMs));
    const history = page.getByRole("list", { name: "Changes, newest first" });
    await history.getByText(/lost term 1: lease expired, \d+ ms after the last renewal/).waitFor();
    const timeline = page.locator(".timeline");
    await timeline.getByRole("application").focus();
    await page.keyboard.press("End");
    expect(await timeline.locator(".mark-text").innerText()).toMatch(
      /^node-b, term 2, from .*: still leading\.$/,
    );
    await page.keyboard.press("Home");
    expect(await timeline.locator(".mark-text").innerText()).toMatch(
      /^node-a, term 1, from .*: lease expired/,
    );
    await page.locator(".failover[data-took] .hit").click();
    expect(await page.locator(".marked").nth(1).locator(".mark-text").innerText()).toMatch(
      /node-a lease expired, node-b won term 2 after /,
    );
  });

  it("the dashboard draws the lease as a bar that drains, and fills it again after a renewal", async () => {
    const term = await tenure.elect("leases/one", "n", 15_000);
    const { page } = await open();
    const bar = row(page, "leases/one").locator(".lease-fill");
    await bar.waitFor();
    const share = () =>
      bar.evaluate(
        (element) => element.getBoundingClientRect().width / (element.parentElement?.clientWidth ?? 1),
      );
    await expect.poll(share).toBeLessThan(0.6);
    const renewal = { node_id: "n", term, extend_by_ms: 15_000 };
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
    // A gap is drawn if it is wide enough to be seen, and is then as long as the events say.
    const gaps = new Set([1, 3, 5].map((i) => `gap ${(times[i + 1] ?? 0) - (times[i] ?? 0)}`));
    expect(drawn.filter((mark) => !gaps.has(mark))).toEqual(["1 resigned", "2 expired", "3 deposed", "4 no"]);
    // In words too, with the operator.
    const history = await page.getByRole("list", { name: "Changes, newest first" }).innerText();
    expect(history).toMatch(/node-a\s+won term 4[\s\S]*node-c\s+lost term 3: stepped down, requested by/);
    expect(await page.locator(".failover").count()).toBe(3);
    await page.getByRole("rowheader", { name: "node-a" }).getByText("eu-west-1").waitFor();
    await watched?.shoot("group");
    expect([errors, foreign]).toEqual([[], []]);
  });

  it("the dashboard plots what the server sampled before the page was opened", async () => {
    const term = await tenure.elect("plots", "a");
    for (let i = 0; i < 20; i++)
      await tenure.act("plots", "/renew", { node_id: "a", term, extend_by_ms: 30_000 });
    await tenure.resign("plots", "a", term);
    await tenure.elect("plots", "b");
    // Two samples after it, so that there is a line.
    const samples = async () =>
      (
        (await tenure.ask("GET", "/v1/samples")).body["samples"] as { leader_changes_per_min: number }[]
      ).filter(({ leader_changes_per_min }) => leader_changes_per_min > 0).length;
    await expect.poll(samples).toBeGreaterThan(1);
    const { page, errors, foreign } = await open("#/overview");
    for (const title of ["Groups", "Leader changes", "Renewals", "Request latency", "Memory"]) {
      const heading = page.getByRole("heading", { name: title, exact: true });
      const plot = page.locator("figure").filter({ has: heading });
      await expect.poll(() => plot.locator(".line-0 path").getAttribute("d")).toMatch(/^M.*L/);
      // No label of an axis is cut off, and all are in one unit.
      const labels = await plot.locator("svg text.axis[text-anchor=end]").evaluateAll((texts) =>
        texts.map((text) => ({
          left: (text as SVGTextElement).getBBox().x,
          unit: text.textContent?.replace(/^[\d.]+/, ""),
        })),
      );
      expect(Math.min(...labels.map(({ left }) => left)), title).toBeGreaterThanOrEqual(0);
      expect(new Set(labels.slice(0, -1).map(({ unit }) => unit)).size, title).toBe(1);
    }
    await page.getByText("embedded; responds in").waitFor();
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
    // Groups that never had a leader keep their order: no lease of theirs expires.
    for (const id of ["a", "b", "c"]) await tenure.ask("POST", "/v1/groups", { group_id: `keys/${id}` });
    const { page } = await open("#/?q=keys");
    const focused = () => page.evaluate(() => document.activeElement?.getAttribute("aria-label"));
    await page.getByRole("link", { name: "keys/c", exact: true }).waitFor();
    await page.keyboard.press("/");
    expect(await page.evaluate(() => document.activeElement?.getAttribute("type"))).toBe("search");
    await page.getByRole("link", { name: "keys/a", exact: true }).focus();
    await page.keyboard.press("ArrowDown");
    await expect.poll(focused).toBe("keys/b");
    await page.keyboard.press("j");
    await expect.poll(focused).toBe("keys/c");
    await page.keyboard.press("k");
    await expect.poll(focused).toBe("keys/b");
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
    await page.keyboard.press("Escape");
    await expect.poll(focused).toBe("keys/b");
    await page.keyboard.press("Enter");
    await expect.poll(() => page.evaluate(() => document.activeElement?.tagName)).toBe("H1");
    expect(await page.title()).toBe("keys/b · Tenure");
  });

  it("the keyboard focus stays on its group when the order of the groups changes", async () => {
    for (const id of ["a", "b", "c", "d"])
      await tenure.ask("POST", "/v1/groups", { group_id: `moving/${id}` });
    const { page } = await open("#/?q=moving");
    const focused = () => page.evaluate(() => document.activeElement?.getAttribute("aria-label"));
    const first = () => page.locator('[data-index="0"] a').getAttribute("aria-label");
    await page.getByRole("link", { name: "moving/c", exact: true }).focus();
    // A group that lost its leader is listed before the groups that never had one.
    await tenure.elect("moving/c", "n");
    await tenure.resign("moving/c", "n", 1);
    await expect.poll(first).toBe("moving/c");
    expect(await focused()).toBe("moving/c");
    await page.keyboard.press("j");
    await expect.poll(focused).toBe("moving/a");
    await tenure.elect("moving/d", "n");
    await tenure.resign("moving/d", "n", 1);
    await expect.poll(() => page.locator('[data-index="2"] a').getAttribute("aria-label")).toBe("moving/a");
    expect(await focused()).toBe("moving/a");
    await page.keyboard.press("k");
    await expect.poll(focused).toBe("moving/d");
  });

  it("the dashboard says at once that the connection is lost, keeps the last state, and resumes with its cursor", async () => {
    await tenure.elect("kept/one", "before", 60_000);
    const { page, errors, requests, foreign } = await open("#/?q=kept");
    await row(page, "kept/one").getByText("before").waitFor();
    await expect.poll(() => row(page, "kept/one").locator(".c-members").innerText()).toMatch(/^1/);
    await watched?.shoot("groups");

    await tenure.kill();
    const killedAtMs = Date.now();
    await page.getByRole("alert").getByText("Connection lost at").waitFor();
    if (isChaos) expect(Date.now() - killedAtMs).toBeLessThan(1000);
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
