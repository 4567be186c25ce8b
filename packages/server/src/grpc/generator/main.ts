/** `npm run generate`: writes `proto/tenure.proto`. */
import { writeFileSync } from "node:fs";
import { PROTO_PATH } from "../proto-services.js";
import { readRegistry } from "./proto-registry.js";
import { methodsOfVerbs, protoText } from "./proto-text.js";

writeFileSync(PROTO_PATH, protoText(methodsOfVerbs(), readRegistry(PROTO_PATH)));
