/** A ZooKeeper ensemble, by the one command that every server answers (`srvr`). Reads only. */
import { connect } from "node:net";
import type { parseZookeeperUrl } from "@tenure/stores/zookeeper";
import { type Finding, messageOf, note, ok, wrong } from "../finding.js";
import { isBefore } from "../version.js";

const OLDEST = "3.6.0";
const LIMIT_MS = 3000;

export async function checkZookeeper({
  servers,
  tls = false,
}: ReturnType<typeof parseZookeeperUrl>): Promise<Finding[]> {
  if (tls !== false) {
    return [
      note(
        "zookeeper",
        "skipped: doctor cannot send four-letter commands over TLS",
        "run srvr on each server",
      ),
    ];
  }
  const looked = await Promise.all(
    servers.map(async ({ host, port }): Promise<{ finding: Finding; isServing: boolean }> => {
      const about = `zookeeper ${host}:${port}`;
      try {
        return judgeServer(about, await srvr(host, port));
      } catch (error) {
        const advice = "check that it runs and can be reached from here";
        return { finding: wrong(about, `does not respond: ${messageOf(error)}`, advice), isServing: false };
      }
    }),
  );
  const serving = looked.filter(({ isServing }) => isServing).length;
  const says = `${serving} of the ${servers.length} servers in the URL serve`;
  const quorum =
    serving < servers.length
      ? wrong("zookeeper quorum", says, "restart the others before another one fails")
      : servers.length === 1
        ? note("zookeeper quorum", `${says}: if it fails, every election stops`, "run three or five")
        : ok("zookeeper quorum", says);
  return [...looked.map(({ finding }) => finding), quorum];
}

export function judgeServer(about: string, answer: string): { finding: Finding; isServing: boolean } {
  const version = /^Zookeeper version: (\S+?)[-,]/m.exec(answer)?.[1];
  const mode = /^Mode: (\S+)/m.exec(answer)?.[1];
  if (version === undefined || mode === undefined) {
    const says = `does not serve: ${answer.trim().split("\n")[0] ?? "no response"}`;
    return {
      finding: wrong(about, says, "check that a majority of its ensemble runs and is connected"),
      isServing: false,
    };
  }
  if (isBefore(version, OLDEST)) {
    return { finding: wrong(about, `is ${version}`, `upgrade to ${OLDEST} or newer`), isServing: true };
  }
  return { finding: ok(about, `is ${version}, ${mode}`), isServing: true };
}

function srvr(host: string, port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port });
    let text = "";
    socket.setEncoding("utf8").setTimeout(LIMIT_MS, () => socket.destroy(new Error("no response")));
    socket.once("connect", () => socket.write("srvr"));
    socket.on("data", (chunk: string) => (text += chunk)).on("error", reject);
    socket.once("close", () => resolve(text));
  });
}
