import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { parseDuration, written } from "../model/format.js";
import type { Act, Target } from "../model/act.js";
import { nodesOf } from "../model/policy-draft.js";
import { ActDialog } from "./act-dialog.js";
import { DurationField } from "./duration-field.js";
import { NodesField } from "./nodes-field.js";
import { StrategyField } from "./strategy-field.js";

export interface CreateDialogProps {
  /** "": the reader names it. */
  readonly groupId: string;
  readonly target: Target;
  readonly send: (act: Act) => Promise<void>;
  readonly onCreated: (groupId: string) => void;
  readonly onClose: () => void;
}

export function CreateDialog(props: CreateDialogProps): JSX.Element {
  const { target, send, onCreated, onClose } = props;
  const [groupId, setGroupId] = useState(props.groupId);
  const [maxTtl, setMaxTtl] = useState("");
  const [takeoverDelay, setTakeoverDelay] = useState("");
  const [strategy, setStrategy] = useState("first");
  const [isRestricted, setRestricted] = useState(false);
  const [nodes, setNodes] = useState("");
  const id = groupId.trim();
  const times = [
    ["max_ttl_ms", "--max-ttl", maxTtl],
    ["takeover_delay_ms", "--takeover-delay", takeoverDelay],
  ] as const;
  const given = times.filter(([, , text]) => text.trim() !== "");
  const isWrong = given.some(([, , text]) => parseDuration(text) === null);
  const policy = {
    ...Object.fromEntries(given.map(([key, , text]) => [key, parseDuration(text)])),
    ...(strategy === "first" ? {} : { strategy }),
  };
  const allowed = isRestricted ? nodesOf(nodes) : null;
  return (
    <ActDialog
      title="Create a group"
      consequence="A campaign creates a group that does not exist, too. Create it here to set its policy before the first campaign."
      confirm="Create"
      reason="optional"
      problem={
        id === ""
          ? "Give the group an id."
          : isWrong
            ? "A duration is invalid; write it like 30s or 5m."
            : null
      }
      act={({ field, option }) => ({
        method: "POST",
        path: "/v1/groups",
        body: {
          group_id: id,
          ...field,
          ...(Object.keys(policy).length === 0 ? {} : { policy }),
          ...(allowed === null ? {} : { allowed_nodes: allowed }),
        },
        command: [
          ...["groups", "create", id],
          ...given.flatMap(([, flag, text]) => [flag, written(parseDuration(text) ?? 0)]),
          ...(strategy === "first" ? [] : ["--strategy", strategy]),
          ...(allowed === null ? [] : ["--allow", allowed.join(",")]),
          ...option,
        ],
      })}
      target={target}
      send={async (act) => {
        await send(act);
        onCreated(id);
      }}
      onClose={onClose}
    >
      <label class="field">
        <span>
          Group id <span class="muted">(required; slashes group it: shop/orders)</span>
        </span>
        <input
          name="group"
          autocomplete="off"
          spellcheck={false}
          value={groupId}
          onInput={(event) => setGroupId(event.currentTarget.value)}
        />
      </label>
      <div class="pair">
        <DurationField label="Longest lease" hint="empty: default" value={maxTtl} onChange={setMaxTtl} />
        <DurationField
          label="Takeover delay"
          hint="empty: none"
          value={takeoverDelay}
          onChange={setTakeoverDelay}
        />
        <StrategyField value={strategy} onChange={setStrategy} />
      </div>
      <NodesField
        isRestricted={isRestricted}
        nodes={nodes}
        onChange={(restricted, text) => {
          setRestricted(restricted);
          setNodes(text);
        }}
      />
    </ActDialog>
  );
}
