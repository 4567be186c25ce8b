/**
 * The health check of the image: exits with 0 if this container's service answers `/healthz`. It reads the environment
 * of `tenure serve` for the address, and for whether the service speaks TLS. It does not check the certificate: the request
 * does not leave the container, and an expired certificate is an alert, not a reason to restart.
 */
import { request as http } from "node:http";
import { request as https } from "node:https";

const { TENURE_LISTEN = "127.0.0.1:7420", TENURE_TLS_CERT = "", TENURE_BUNDLE = "" } = process.env;
const TIMEOUT_MS = 2000;

const [, host = "", port = "7420"] = /^(.*):(\d+)$/.exec(TENURE_LISTEN) ?? [];
const isEveryAddress = ["", "0.0.0.0", "[::]", "*"].includes(host);
const address = { host: isEveryAddress ? "127.0.0.1" : host.replace(/^\[|\]$/g, ""), port };
const hasTls = TENURE_TLS_CERT !== "" || TENURE_BUNDLE !== "";

const options = { ...address, path: "/healthz", timeout: TIMEOUT_MS, headers: { host: "localhost" } };
const sent = hasTls ? https({ ...options, rejectUnauthorized: false }) : http(options);
sent.once("response", (response) => {
  process.exitCode = response.statusCode === 200 ? 0 : 1;
  if (process.exitCode !== 0) process.stderr.write(`/healthz answered ${response.statusCode}\n`);
  response.destroy();
});
sent.once("timeout", () => sent.destroy(new Error(`no answer within ${TIMEOUT_MS} ms`)));
sent.once("error", (error) => {
  if (process.exitCode === 0) return;
  process.stderr.write(`/healthz: ${error.message}\n`);
  process.exitCode = 1;
});
sent.end();
