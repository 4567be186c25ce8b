/** The files in `deploy/`: alert rules by `promtool`, and the metrics that rules and dashboard name exist. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { findTool, isMissing } from "@tenure/engines";
import { afterEach, describe, expect, test } from "vitest";
import { cleanUp, serve } from "../http/service.test-kit.js";

afterEach(cleanUp);

const DEPLOY = fileURLToPath(new URL("../../../../deploy/", import.meta.url));
const read = (path: string): string => readFileSync(DEPLOY + path, "utf8");

interface Dashboard {
  readonly panels: readonly {
    readonly id: number;
    readonly title: string;
    readonly targets: readonly { readonly expr: string }[];
  }[];
}

const alertExpressions = (): string[] =>
  [...read("prometheus/alerts.yml").matchAll(/^ +expr: (.+)$/gm)].map(([, expr = ""]) => expr);
const dashboard = (): Dashboard => JSON.parse(read("grafana/tenure.json")) as Dashboard;

/** The metrics in an expression: names that are neither functions, nor within braces, parentheses of `by`, or texts. */
function metricsIn(expression: string): string[] {
  const bare = expression
    .replaceAll(/"[^"]*"|\{[^}]*\}|\[[^\]]*\]/g, "")
    .replaceAll(/\b(?:by|without|on) \([^)]*\)/g, "");
  const names = [...bare.matchAll(/\b[a-zA-Z_]\w*\b(?!\s*\()/g)].map(([name]) => name);
  return names.filter((name) => !["or", "and", "unless", "up"].includes(name));
}

describe("the files in deploy", () => {
  test.skipIf(isMissing("prometheus"))("promtool accepts the alert rules, and their tests pass", () => {
    const promtool = findTool("promtool") ?? "";
    const run = (...args: readonly string[]): string =>
      execFileSync(promtool, args, { cwd: `${DEPLOY}prometheus`, encoding: "utf8", stdio: "pipe" });
    expect(run("check", "rules", "alerts.yml")).toContain(`${alertExpressions().length} rules found`);
    expect(run("test", "rules", "alerts.test.yml")).toContain("SUCCESS");
  });

  test("every metric of the alert rules and of the Grafana dashboard is a metric of the service", async () => {
    const service = await serve();
    const text = (await service.get("/metrics")).body as unknown as string;
    const known = new Set([...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name));
    const expressions = [
      ...alertExpressions(),
      ...dashboard().panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
    ];
    const named = [...new Set(expressions.flatMap(metricsIn))].toSorted();
    expect(named.length).toBeGreaterThan(15);
    expect(named.filter((name) => !known.has(name.replace(/_(?:bucket|sum|count)$/, "")))).toEqual([]);
  });

  test("every alert has a runbook in docs/OPERATIONS.md", () => {
    const page = readFileSync(`${DEPLOY}../docs/OPERATIONS.md`, "utf8");
    const titles = new Set(
      [...page.matchAll(/^#+ (.+)$/gm)].map(([, title = ""]) => title.toLowerCase().replaceAll(" ", "-")),
    );
    const named = [...read("prometheus/alerts.yml").matchAll(/runbook: docs\/OPERATIONS\.md#(\S+)/g)];
    expect(named).toHaveLength(alertExpressions().length);
    expect(named.map(([, title = ""]) => title).filter((title) => !titles.has(title))).toEqual([]);
  });

  test("every panel of the Grafana dashboard has its own id, a title and expressions", () => {
    const { panels } = dashboard();
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    for (const { title, targets } of panels)
      expect({ title, count: targets.length }).toEqual({
        title: expect.stringMatching(/\S/) as string,
        count: expect.any(Number) as number,
      });
  });
});
