import type { OutputConfiguration } from "commander";

/** Whatever is wrong is said by the command's name. Commands do not inherit it: each is given it. */
export const ERROR_OUTPUT: OutputConfiguration = {
  outputError: (text, write) => write(text.replace(/^error: /, "tenure: ")),
};
