// npm run readme: prints the tables of the README anew from the code.
import { readFileSync, writeFileSync } from "node:fs";
import { withTables } from "./readme-tables.js";

const readme = new URL("../../README.md", import.meta.url);
writeFileSync(readme, withTables(readFileSync(readme, "utf8")));
