/** The units of `deploy/systemd`, checked by systemd's own programs. systemd itself does not run here. */
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isMissing } from "@tenure/engines";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Scratch } from "../scratch.test-kit.js";
import { CommandLines } from "./command-lines.test-kit.js";
import { DEPLOY } from "./manifests.test-kit.js";

const UNITS = ["tenure.service", "billing@.service"] as const;
/** Highest exposure that `systemd-analyze security` may report, in tenths. `tenure.service` has 14. */
const MAX_EXPOSURE = { "tenure.service": 20, "billing@.service": 60 };

describe.skipIf(isMissing("systemd"))("units for systemd", () => {
  const scratch = new Scratch();
  let directory: string;
  let lines: CommandLines;
  beforeAll(async () => {
    lines = await CommandLines.load();
    directory = scratch.directory();
    // The command is not installed here: another program takes its place.
    for (const unit of UNITS)
      writeFileSync(join(directory, unit), text(unit).replace(/^ExecStart=\S+/m, "ExecStart=/bin/true"));
  });
  afterAll(() => scratch.close());

  const text = (unit: string): string => readFileSync(join(DEPLOY, "systemd", unit), "utf8");
  const analyze = (...args: readonly string[]) =>
    spawnSync("systemd-analyze", [...args, "--no-pager"], { encoding: "utf8" });

  it.each(UNITS)(
    "systemd-analyze finds nothing wrong with %s, and it is not exposed more than allowed",
    (unit) => {
      const { status, stderr } = analyze("verify", join(directory, unit));
      expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
      const threshold = `--threshold=${MAX_EXPOSURE[unit]}`;
      const security = analyze("security", "--offline=true", threshold, join(directory, unit));
      expect(security.status, security.stdout).toBe(0);
    },
  );

  it("systemd-analyze finds a setting that does not exist", () => {
    const wrong = join(directory, "wrong.service");
    writeFileSync(
      wrong,
      text("tenure.service")
        .replace("DynamicUser=", "DynamicUsr=")
        .replace(/^ExecStart=\S+/m, "ExecStart=/bin/true"),
    );
    expect(analyze("verify", wrong).stderr).toContain("Unknown key 'DynamicUsr'");
  });

  it.each(UNITS)("every option and variable in %s exists", (unit) => {
    const [, command = ""] = /^ExecStart=\/usr\/bin\/tenure (.+)$/m.exec(text(unit)) ?? [];
    const variables = [...text(unit).matchAll(/(?:^Environment=| )(TENURE_[A-Z_]+)=/gm)].map(
      ([, name = ""]) => name,
    );
    expect(variables.length).toBeGreaterThan(1);
    expect(lines.problems(command.split(" "), variables)).toEqual([]);
  });
});
