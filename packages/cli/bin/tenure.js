#!/usr/bin/env node
// Committed as it is: npm links a command at install time only if its file is there, before anything is built.
import { access } from "node:fs/promises";

const main = new URL("../dist/main.js", import.meta.url);
try {
  await access(main);
} catch {
  console.error("tenure is not built yet; run npm run build first");
  process.exit(1);
}
await import(main.href);
