/** `npm run build`: everything that has changed. */
import { build, main } from "./setup.mjs";

await main(() => build());
