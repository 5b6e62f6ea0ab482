import { catalogCache } from "./catalog-cache.mjs";
import { coldStart } from "./cold-start.mjs";
import { freshProcess } from "./fresh-process.mjs";
import { heap } from "./heap.mjs";
import { hostileSchemas } from "./hostile-schemas.mjs";
import { largeResult } from "./large-result.mjs";
import { listing } from "./listing.mjs";
import { manyServers } from "./many-servers.mjs";
import { middleware } from "./middleware.mjs";
import { nestedSchema } from "./nested-schema.mjs";
import { recovery } from "./recovery.mjs";
import { scaling } from "./scaling.mjs";
import { sequential } from "./sequential.mjs";
import { throughput } from "./throughput.mjs";

/** Each workload yields lines of the report: an id, a title, and the samples of every peer by round. */
export const WORKLOADS = {
  sequential,
  throughput,
  "large-result": largeResult,
  "nested-schema": nestedSchema,
  "cold-start": coldStart,
  "many-servers": manyServers,
  listing,
  "catalog-cache": catalogCache,
  "fresh-process": freshProcess,
  "hostile-schemas": hostileSchemas,
  recovery,
  scaling,
  middleware,
  heap,
};
