/** `tenure audit`: what operators did. */
import type { Command } from "commander";
import { newCommand, withExamples } from "../frame/elector-command.js";
import type { Shell } from "../frame/shell.js";
import { auditListCommand } from "./list-command.js";
import { auditVerifyCommand } from "./verify-command.js";

export function auditCommand(shell: Shell): Command {
  const command = newCommand(shell, "audit", "List what operators did, and check the audit file of a server")
    .addCommand(auditListCommand(shell), { isDefault: true })
    .addCommand(auditVerifyCommand(shell));
  return withExamples(command, "tenure audit --group billing", "tenure audit verify audit.log");
}
