// npm run readme: prints the tables of the README anew from the code, and what the command line shows.
import { readFileSync, writeFileSync } from "node:fs";
import { withRuns } from "./readme-runs.js";
import { withTables } from "./readme-tables.js";

const readme = new URL("../../README.md", import.meta.url);
writeFileSync(readme, await withRuns(withTables(readFileSync(readme, "utf8"))));
