/** A Tenure service on the store whose URL is given, as a process of its own. */
import { TenureServer } from "@tenure/server";
import { answerOwner } from "./child.js";
import { type ServiceAnswer, type ServiceQuestion, stateOf } from "./service-load.js";

const opened = TenureServer.open({
  listen: "127.0.0.1:0",
  store: process.argv[2],
  logLevel: "warn",
});

answerOwner<ServiceQuestion, ServiceAnswer>(async (question) => stateOf((await opened).url, question));
