import { coldStart } from "./cold-start.mjs";
import { freshProcess } from "./fresh-process.mjs";
import { heap } from "./heap.mjs";
import { largeResult } from "./large-result.mjs";
import { links } from "./links.mjs";
import { listing } from "./listing.mjs";
import { nestedSchema } from "./nested-schema.mjs";
import { recovery } from "./recovery.mjs";
import { sequential } from "./sequential.mjs";
import { slopes } from "./slopes.mjs";
import { stored } from "./stored.mjs";
import { throughput } from "./throughput.mjs";

/** Each yields lines of the report: an id, a title, and what every peer took in every round. */
export const WORKLOADS = {
  sequential,
  throughput,
  "large-result": largeResult,
  "nested-schema": nestedSchema,
  "cold-start": coldStart,
  listing,
  stored,
  "fresh-process": freshProcess,
  recovery,
  slopes,
  links,
  heap,
};
