import type { FastifyDynamicSwaggerOptions } from "@fastify/swagger";

/** The head of the OpenAPI document; its paths come from the routes. */
export const API_DOCUMENT: NonNullable<FastifyDynamicSwaggerOptions["openapi"]> = {
  openapi: "3.0.3",
  info: {
    title: "Tenure",
    version: "1",
    description: "Leader election with leases and terms that only rise.",
    license: { name: "Apache-2.0", url: "https://www.apache.org/licenses/LICENSE-2.0" },
  },
  tags: [
    { name: "elections", description: "Taking part, and looking who leads." },
    { name: "groups", description: "What operators do." },
    { name: "operations", description: "Whether the service is well." },
  ],
  components: {
    securitySchemes: {
      bearer: { type: "http", scheme: "bearer", description: "the admin token, or a JWT" },
    },
  },
  // Either, and on loopback none: a client certificate cannot be said in this version of OpenAPI.
  security: [{ bearer: [] }, {}],
};
