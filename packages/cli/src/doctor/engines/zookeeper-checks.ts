/** A ZooKeeper ensemble, by the one command that every server answers (`srvr`). Reads only. */
import { connect } from "node:net";
import type { parseZookeeperUrl } from "@tenure/stores/zookeeper";
import { type Finding, note, ok, wrong } from "../finding.js";
import { quorum, tooOld, unreachable } from "./server-findings.js";

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
        return { finding: unreachable(about, error), isServing: false };
      }
    }),
  );
  const serving = looked.filter(({ isServing }) => isServing).length;
  const count = servers.length;
  const says = `${serving} of the ${count} servers in the URL serve`;
  return [
    ...looked.map(({ finding }) => finding),
    quorum("zookeeper", { serving, count }, says, "run three or five"),
  ];
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
  const finding = tooOld(about, version, OLDEST) ?? ok(about, `is ${version}, ${mode}`);
  return { finding, isServing: true };
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
