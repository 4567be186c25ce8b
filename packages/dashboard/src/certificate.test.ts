/** Signing in by client certificate, in browsers that have one installed. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { isMissing } from "@tenure/engines";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { Browser, WatchedPage } from "./browser.test-kit.js";
import { Certificates } from "./certificates.test-kit.js";
import { Tenure } from "./tenure.test-kit.js";

const COMMAND = fileURLToPath(new URL("../../cli/bin/tenure.js", import.meta.url));
const run = promisify(execFile);

describe.skipIf(isMissing("chromium") || isMissing("nss"))("a browser with a client certificate", () => {
  let certificates: Certificates;
  let tenure: Tenure;
  let browser: Browser;
  let watched: WatchedPage;

  beforeAll(async () => {
    certificates = new Certificates();
    certificates.issue("admin", "jane");
    certificates.issue("sdk", "worker-1");
    tenure = await Tenure.start(certificates.args);
    await asWorker("campaign", "billing", "--node-id", "worker-1", "--ttl", "60s");
  });
  afterEach(async () => {
    expect(watched.foreign).toEqual([]);
    await browser.close();
  });
  afterAll(async () => {
    await tenure?.close();
    certificates?.close();
  });

  const asWorker = (...args: readonly string[]) =>
    run(process.execPath, [COMMAND, ...args, "--server", tenure.url, ...certificates.argsOf("worker-1")]);
  const open = async (name: string | null) => {
    browser = await certificates.browser(name, tenure.url);
    watched = await browser.open(`${tenure.url}/#/groups/billing`);
    return watched.page;
  };

  it("a client certificate of an admin allows actions without a token", async () => {
    const page = await open("jane");
    await expect.poll(() => page.locator(".identity").innerText()).toBe("jane · admin");
    expect(await page.getByRole("button", { name: "Sign out" }).count()).toBe(0);
    await page.getByRole("button", { name: "Step down" }).click();
    await page.getByRole("dialog").getByLabel("Reason").fill("drill");
    await page.getByRole("dialog").getByLabel("Do not wait").check();
    await page.getByRole("dialog").getByRole("button", { name: "Step down" }).click();
    await page.getByText("lost term 1: stepped down, requested by jane").waitFor();
    await expect.poll(() => tenure.log).toMatch(/"audit":true.*"name":"jane"/);
    const kept = await page.evaluate(() => [location.href, sessionStorage.length, document.cookie]);
    expect(kept).toEqual([`${tenure.url}/#/groups/billing`, 0, ""]);
    expect(watched.errors).toEqual([]);
    await watched.shoot("certificate");
  });

  it("a client certificate of a node shows no actions", async () => {
    const page = await open("worker-1");
    await page.getByText("Only an admin may act on this group; you are worker-1, a node.").waitFor();
    expect(await page.getByRole("button", { name: "Step down" }).count()).toBe(0);
    expect(watched.errors).toEqual([]);
  });

  it("a browser without a client certificate shows how to sign in", async () => {
    const page = await open(null);
    await page.getByText("send a client certificate").waitFor();
    await watched.shoot("no-certificate");
    expect(watched.errors.filter((text) => !text.includes("status of 401"))).toEqual([]);
  });
});
