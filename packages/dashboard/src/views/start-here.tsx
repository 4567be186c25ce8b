import type { JSX } from "preact";
import { asCommand, asCurl, type Target } from "../model/act.js";
import { CopyButton } from "./copy-button.js";

const CLIENT = "@tenure/client";

/** What a reader without groups can do first, on this very server. */
export function StartHere({ target, docsUrl }: { target: Target; docsUrl: string }): JSX.Element {
  const campaign = {
    method: "POST",
    path: "/v1/groups/billing/campaign",
    body: { node_id: "worker-1", lease_ttl_ms: 30_000 },
  } as const;
  const run = [
    "run",
    "billing",
    "--node-id",
    "worker-1",
    "--",
    "sh",
    "-c",
    "while :; do date; sleep 1; done",
  ];
  const credentials = target.needsToken ? `, { token: process.env.TENURE_TOKEN }` : "";
  const program = `import { Election, openElector } from "${CLIENT}";

const elector = await openElector("${target.origin}"${credentials});
const election = new Election(elector, { groupId: "billing", nodeId: "worker-1", ttlMs: 5_000 });
await election.lead(async ({ term, signal }) => {
  console.log("leading in term", term);
});
await elector.close();`;
  return (
    <div class="start card">
      <h2>There are no groups yet</h2>
      <p class="muted">
        The first campaign creates a group. Any of these campaigns for the group <b>billing</b> on this server
        {target.needsToken &&
          "; put your token into the variable TENURE_TOKEN, or into a file and its name in place of TOKEN_FILE"}
        .
      </p>
      <Snippet title="Around a command" text={asCommand(run, target)} />
      <Snippet title="With curl" text={asCurl(campaign, target)} />
      <Snippet title="In a program" text={program} />
      <p>
        <a href={docsUrl} target="_blank" rel="noreferrer">
          Documentation
        </a>
      </p>
    </div>
  );
}

function Snippet({ title, text }: { title: string; text: string }): JSX.Element {
  return (
    <div class="snippet">
      <h3>{title}</h3>
      <CopyButton text={text} what={title.toLowerCase()} />
      <pre tabIndex={0} aria-label={title}>
        {text}
      </pre>
    </div>
  );
}
