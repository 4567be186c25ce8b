/** The `tenure` command. */
import { Command, CommanderError } from "commander";
import { ERROR_OUTPUT } from "./error-output.js";
import { EXIT } from "./exit-codes.js";
import { serveCommand } from "./serve-command.js";

const program = new Command("tenure")
  .description("Leader election that can be trusted: one leader per group, a lease, a term that only rises.")
  .exitOverride()
  .configureOutput(ERROR_OUTPUT)
  .addCommand(serveCommand());

try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) {
    process.exitCode = error.exitCode === 0 ? EXIT.done : EXIT.wrongUse;
  } else {
    console.error(`tenure: ${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = EXIT.failed;
  }
}
