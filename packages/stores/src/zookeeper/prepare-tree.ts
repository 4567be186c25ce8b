import { refusalToOpen } from "./failures.js";
import type { Tree } from "./tree.js";
import {
  type Access,
  CODE,
  OP,
  readMultiRead,
  readNames,
  writeMultiRead,
  writePath,
  writeSingle,
} from "./wire/protocol.js";
import type { ZookeeperSession } from "./wire/session.js";

/** Creates the missing nodes of the path and its buckets. Several processes may do this at the same time. */
export async function prepareTree(session: ZookeeperSession, tree: Tree, access: Access): Promise<void> {
  const found = await children(session, tree.root);
  // Looked up first: a user without the permission to create a node is refused even if the node exists.
  for (const path of found === null ? tree.trunk : []) {
    if (!(await exists(session, path))) await create(session, path, access);
  }
  const missing = tree.buckets.filter((path) => found?.has(path) !== true);
  await Promise.all(missing.map((path) => create(session, path, access)));
}

/** The paths of a node's children; `null` if it is not there. */
function children(session: ZookeeperSession, path: string): Promise<Set<string> | null> {
  return session.call(
    OP.multiRead,
    (writer) => writeMultiRead(writer, OP.getChildren, [path]),
    ({ code, body }) => {
      let found: Set<string> | null = null;
      if (code !== CODE.ok) throw refusalToOpen(code, `to read ${path}`);
      readMultiRead(body, (_, code) => {
        if (code === CODE.noNode) return;
        if (code !== CODE.ok) throw refusalToOpen(code, `to read ${path}`);
        found = new Set(readNames(body).map((name) => `${path}/${name}`));
      });
      return found;
    },
  );
}

function exists(session: ZookeeperSession, path: string): Promise<boolean> {
  return session.call(
    OP.exists,
    (writer) => writePath(writer, path),
    ({ code }) => code === CODE.ok,
  );
}

function create(session: ZookeeperSession, path: string, access: Access): Promise<void> {
  return session.call(
    OP.create2,
    (writer) => writeSingle(writer, { kind: "create", path, data: "", access }),
    ({ code }) => {
      if (code !== CODE.ok && code !== CODE.nodeExists) throw refusalToOpen(code, `to create ${path}`);
    },
  );
}
