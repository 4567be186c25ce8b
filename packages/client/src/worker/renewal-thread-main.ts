/** Runs in the thread that renews: its own elector, and a renewer for each term that it is given. */
import { parentPort, workerData } from "node:worker_threads";
import { sleep, systemClock } from "@tenure/core";
import { machineClock } from "./machine-clock.js";
import type { FromThread, ToThread } from "./messages.js";
import { type ElectorDescription, openElector } from "./thread-elector.js";
import { ThreadRenewer } from "./thread-renewer.js";

/** An elector that has not closed after this time is abandoned. */
const CLOSING_MS = 5000;

const port = parentPort;
if (port === null) throw new Error("this runs in a thread of its own");
const renewers = new Map<number, ThreadRenewer>();
// If it fails, the thread ends with its error.
const opening = openElector(workerData as ElectorDescription);
void opening.then(() => port.postMessage({ kind: "opened" } satisfies FromThread));
port.on("message", (message: ToThread) => void take(message));

async function take(message: ToThread): Promise<void> {
  switch (message.kind) {
    case "lead": {
      const { id, order } = message;
      const tell = (told: FromThread) => port?.postMessage(told);
      const renewer = new ThreadRenewer({
        id,
        order,
        elector: await opening,
        clock: machineClock,
        random: Math.random,
        tell,
      });
      renewers.set(id, renewer);
      renewer.start();
      return;
    }
    case "stop":
      await opening;
      renewers.get(message.id)?.stop();
      renewers.delete(message.id);
      return;
    case "close":
      await Promise.race([opening.then((elector) => elector.close()), sleep(systemClock, CLOSING_MS)]);
      process.exit();
  }
}
