/** Pages of other sites, in the browser of a user whom the service takes for an admin. */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { isMissing } from "@tenure/engines";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { Browser } from "./browser.test-kit.js";
import { Certificates } from "./certificates.test-kit.js";
import { Tenure } from "./tenure.test-kit.js";

/** As DNS rebinding does: the name of the page resolves to this machine. */
const REBOUND = ["--host-resolver-rules=MAP evil.example 127.0.0.1"];

let evil: Server;
let evilUrl: string;
let browser: Browser;
beforeAll(async () => {
  evil = await servePage(0);
  evilUrl = `http://evil.example:${(evil.address() as AddressInfo).port}/`;
});
afterEach(() => browser.close());
afterAll(() => void evil.close());

async function servePage(port: number): Promise<Server> {
  const server = createServer((_, response) => {
    response.setHeader("content-type", "text/html").end("<p>win a prize");
  });
  await once(server.listen(port, "127.0.0.1"), "listening");
  return server;
}

/** What the attack would pause. */
const TARGETS = ["beacon", "fetched", "form", "omitted"];

/** Runs in the service's own page, which may do so. */
async function create(groups: readonly string[]): Promise<readonly number[]> {
  const headers = { "content-type": "application/json" };
  const created = groups.map(async (group_id) => {
    const body = JSON.stringify({ group_id });
    return (await fetch("/v1/groups", { method: "POST", headers, body })).status;
  });
  return Promise.all(created);
}

const untouched = { groups: TARGETS.map((group_id) => ({ group_id, paused: false })) };

/** Everything that a page can send to another site without a preflight. Resolves when the browser has sent it. */
async function attack(page: Page, service: string): Promise<void> {
  await page.evaluate(async (url) => {
    const post = (group: string, credentials: RequestCredentials) =>
      fetch(`${url}/v1/groups/${group}/pause`, { method: "POST", mode: "no-cors", credentials });
    await Promise.allSettled([post("fetched", "include"), post("omitted", "omit")]);
    navigator.sendBeacon(`${url}/v1/groups/beacon/pause`);
    const form = document.createElement("form");
    const frame = document.createElement("iframe");
    frame.name = "hidden";
    form.method = "post";
    form.action = `${url}/v1/groups/form/pause`;
    form.target = "hidden";
    document.body.append(frame, form);
    const loaded = new Promise((resolve) => {
      frame.addEventListener("load", resolve);
    });
    form.submit();
    await loaded;
  }, service);
}

describe.skipIf(isMissing("chromium"))("a page of another site", () => {
  it("a page of another site changes nothing on unauthenticated loopback, and the service's own page does", async () => {
    const tenure = await Tenure.start();
    try {
      browser = await Browser.launch({ args: REBOUND });
      const own = await browser.open(tenure.url);
      expect(await own.page.evaluate(create, TARGETS)).toEqual([201, 201, 201, 201]);
      const { page } = await browser.open(evilUrl);
      await attack(page, tenure.url);
      expect((await tenure.ask("GET", "/v1/groups")).body).toMatchObject(untouched);
      const status = await own.page.evaluate(
        async () => (await fetch("/v1/groups/form/pause", { method: "POST" })).status,
      );
      expect(status).toBe(200);
      expect((await tenure.ask("GET", "/v1/groups/form")).body).toMatchObject({ paused: true });
    } finally {
      await tenure.close();
    }
  });

  it("a page of another site reads and changes nothing when its name resolves to this machine (DNS rebinding)", async () => {
    const tenure = await Tenure.start();
    try {
      await tenure.elect("secret", "a");
      browser = await Browser.launch({ args: REBOUND });
      // The page comes from the attacker's server. By the time of its requests its name resolves to the service.
      await tenure.kill();
      const attacker = await servePage(Number(new URL(tenure.url).port));
      const { page } = await browser.open(tenure.url.replace("127.0.0.1", "evil.example"));
      attacker.closeAllConnections();
      attacker.close();
      await once(attacker, "close");
      await tenure.start();
      const found = await page.evaluate(async () => {
        const read = await fetch("/v1/groups");
        const body = JSON.stringify({ node_id: "evil", lease_ttl_ms: 5000 });
        const headers = { "content-type": "application/json" };
        const won = await fetch("/v1/groups/g/campaign", { method: "POST", headers, body });
        return [location.hostname, read.status, (await read.text()).includes("secret"), won.status];
      });
      expect(found).toEqual(["evil.example", 403, false, 403]);
    } finally {
      await tenure.close();
    }
  });
});

describe.skipIf(isMissing("chromium") || isMissing("nss"))("a page of another site, over mTLS", () => {
  it("a page of another site changes nothing with the client certificate of the user", async () => {
    const certificates = new Certificates();
    certificates.issue("admin", "jane");
    const tenure = await Tenure.start(certificates.args);
    try {
      browser = await certificates.browser("jane", tenure.url, REBOUND);
      // An open connection is used even if credentials are omitted.
      const own = await browser.open(tenure.url);
      await expect.poll(() => own.page.locator(".identity").innerText()).toBe("jane · admin");
      expect(await own.page.evaluate(create, TARGETS)).toEqual([201, 201, 201, 201]);
      await own.page.goto(evilUrl);
      await attack(own.page, tenure.url);
      await own.page.goto(tenure.url);
      const groups = await own.page.evaluate(async () => (await fetch("/v1/groups")).text());
      expect(JSON.parse(groups)).toMatchObject(untouched);
    } finally {
      await tenure.close();
      certificates.close();
    }
  });
});
