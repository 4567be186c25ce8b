import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freePorts } from "@tenure/engines";
import { ReportedRun } from "../run/reported-run.test-kit.js";
import { Scratch } from "../scratch.test-kit.js";
import { ApiServer } from "./api-server.test-kit.js";

describe("tenure elect", () => {
  const scratch = new Scratch();
  let server: string;
  let api: ApiServer;
  beforeAll(async () => {
    scratch.directory();
    api = await ApiServer.open("a", "b");
    server = (await scratch.serve(["--listen", "127.0.0.1:0", "--store", "memory:", "--log-level", "warn"]))
      .url;
  });
  afterAll(async () => {
    await scratch.close();
    await api.close();
  });

  function elect(group: string, nodeId: string, ...args: readonly string[]): ReportedRun {
    return new ReportedRun({
      command: "elect",
      server,
      group,
      args: ["--node-id", nodeId, "--ttl", "2s", ...args],
      env: api.env,
    });
  }

  function labelling(podName: string, label = "tenure-leader=g"): readonly string[] {
    return ["--pod-label", label, "--pod-name", podName, "--kubernetes-credentials", api.directory];
  }

  it("tenure elect labels the leader's pod only: after a crash the next leader moves the label, after SIGTERM none has it", async () => {
    const [port] = await freePorts(1);
    await using a = elect("g", "a", ...labelling("a"), "--http", `:${port}`);
    await a.next("labelled");
    const answer = await fetch(`http://127.0.0.1:${port}/leader`);
    expect({ status: answer.status, body: await answer.json() }).toEqual({
      status: 200,
      body: { name: "a", is_leader: true, term: 1 },
    });
    const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    expect(metrics).toContain('tenure_run_pod_labelled{group_id="g",node_id="a"} 1');
    await using b = elect("g", "b", ...labelling("b"));
    await b.next("waiting");
    await a.end("SIGKILL");
    // What a label cannot promise.
    expect(api.labelled).toEqual(["a"]);
    expect(await b.next("labelled")).toMatchObject({ pod: "b", label: "tenure-leader=g", term: 2 });
    expect(await b.next("label_removed")).toMatchObject({ pod: "a" });
    // The container of a starts again in the same pod.
    await using again = elect("g", "a", ...labelling("a"));
    await again.next("waiting");
    expect(await b.end()).toBe(0);
    await again.next("labelled");
    expect(await again.end()).toBe(0);
    expect(api.labelled).toEqual([]);
    expect(api.written.filter(({ labelled }) => labelled.length > 1)).toEqual([]);
  });

  it("tenure elect reports what the Kubernetes API refuses, and leads without the label", async () => {
    api.denied.add("list");
    try {
      // The API has a tenth of the ttl to answer, which on a busy machine must not be short.
      await using denied = elect("denied", "a", ...labelling("a"), "--ttl", "60s");
      await denied.next("elected");
      expect((await denied.next("label_failed")).message).toMatch(
        /^label tenure-leader=g: the Kubernetes API answered 403: pods is forbidden: .* cannot list resource "pods"; trying again in /,
      );
      expect(await denied.end()).toBe(0);
    } finally {
      api.denied.clear();
    }
  });

  it("tenure elect without a label only leads; outside of a pod, or with an invalid label, it refuses to label one", async () => {
    await using plain = elect("plain", "a");
    await plain.next("elected");
    expect(await plain.end()).toBe(0);
    const args = ["elect", "g", "--server", server, "--pod-label"];
    const outside = await scratch.run([...args, "tenure-leader=g"], { KUBERNETES_SERVICE_HOST: "" });
    expect(outside).toMatchObject({ code: 2, stdout: "" });
    expect(outside.stderr).toMatch(/^tenure: --pod-label needs the Kubernetes API: KUBERNETES_SERVICE_HOST /);
    const invalid = await scratch.run([...args, "tenure leader=g"]);
    expect(invalid).toMatchObject({ code: 2, stdout: "" });
    expect(invalid.stderr).toContain("Use KEY=VALUE, such as tenure-leader=billing");
  });
});
