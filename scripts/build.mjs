/** `npm run build`: installs dependencies that are missing, then builds everything that has changed. */
import { main, setUp } from "./setup.mjs";

await main(() => setUp());
