/**
 * The dashboard: a page that shows who leads what, live, and lets an admin act. It is built into static files, which the
 * service serves at `/`; it promises nothing that the service's API does not tell.
 */
export { PAGE_DIRECTORY } from "./page-directory.js";
