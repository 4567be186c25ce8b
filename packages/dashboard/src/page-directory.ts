import { fileURLToPath } from "node:url";

/** Where the build puts the page: index.html, and assets/ whose names change with their content. */
export const PAGE_DIRECTORY: string = fileURLToPath(new URL("../dist/page/", import.meta.url));
