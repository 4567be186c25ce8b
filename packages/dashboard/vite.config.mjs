import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const outDir = join(import.meta.dirname, "dist/page");

/** Beside each file its compressed forms, so that the server compresses nothing. */
function precompress() {
  return {
    name: "precompress",
    closeBundle() {
      for (const file of readdirSync(outDir, { recursive: true })) {
        if (!/\.(?:html|js|css|svg)$/.test(file)) continue;
        const path = join(outDir, file);
        const content = readFileSync(path);
        const params = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY };
        writeFileSync(`${path}.br`, brotliCompressSync(content, { params }));
        writeFileSync(`${path}.gz`, gzipSync(content, { level: 9 }));
      }
    },
  };
}

export default {
  root: import.meta.dirname,
  plugins: [precompress()],
  build: {
    outDir,
    emptyOutDir: true,
    // Files of their own: the Content-Security-Policy allows nothing inline.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
};
