// Measures what a model loses in portable schemas, and how large they are, for the tools of real servers.
// Usage: node bench/schemas.mjs --data <folder> [--worst <count>]
// The folder has a file servers.json: [{ server, tools: [{ name, description, inputSchema }] }].
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createMcpTools } from "../dist/index.js";
import { McpTestServer } from "../dist/testing/index.js";
import { median } from "./measure/statistics.mjs";

/** The shares of what is kept, at least; the sizes relative to the original, at most. */
const THRESHOLDS = {
  words: 0.99,
  enums: 1,
  required: 1,
  medianSize: 1.05,
  maxSize: 1.5,
};

const DEFINITIONS = /^#\/(\$defs|definitions)\/([^/]+)/;

const { values: flags } = parseArgs({ options: { data: { type: "string" }, worst: { type: "string" } } });
const file = flags.data === undefined ? undefined : join(flags.data, "servers.json");
if (file === undefined || !existsSync(file)) {
  const reason = file === undefined ? "--data <folder> is missing" : `${file} does not exist`;
  process.stdout.write(
    `Skipped: ${reason}. The folder must have a file servers.json with tools of real servers.\n`,
  );
} else {
  const measured = await measureAll(JSON.parse(readFileSync(file, "utf8")));
  process.exitCode = report(measured) ? 0 : 1;
}

async function measureAll(servers) {
  const measured = [];
  for (const { server, tools } of servers) {
    const run = () => "";
    const listed = tools.map((tool) => ({
      ...tool,
      inputSchema: tool.inputSchema ?? { type: "object" },
      run,
    }));
    const warnings = [];
    const noop = () => undefined;
    const logger = { debug: noop, info: noop, warn: (text) => warnings.push(text), error: noop };
    const inProcess = new McpTestServer({ tools: listed });
    const mcp = await createMcpTools({ [server]: { server: inProcess } }, { logger });
    for (const tool of mcp.tools) {
      const original = listed.find(({ name }) => name === tool.mcp.name);
      measured.push({ server, name: tool.mcp.name, ...measure(original, tool) });
    }
    for (const warning of warnings) process.stdout.write(`${warning}\n`);
    await mcp.close();
  }
  return measured;
}

/** Compares what the server wrote with what a model reads. */
function measure(original, shown) {
  const before = { description: original.description ?? "", parameters: withoutUnused(original.inputSchema) };
  const after = { description: shown.description, parameters: shown.schema };
  const text = [...collect(after, "description"), ...collect(after, "title")].join(" ");
  const values = new Set(collect(after, "enum").flat());
  const names = new Set(collect(after, "required").flat());
  const isMentioned = (value) => text.includes(typeof value === "string" ? value : JSON.stringify(value));
  const enums = collect(before, "enum")
    .concat(collect(before, "const").map((value) => [value]))
    .flat();
  const required = collect(before, "required").flat();
  return {
    words: share(toWords(new Set(collect(before, "description"))), takeFrom(toWords([text]))),
    enums: share(new Set(enums), (value) => values.has(value) || isMentioned(value)),
    required: share(new Set(required), (name) => names.has(name) || isMentioned(name)),
    size: JSON.stringify(after).length / JSON.stringify(before).length,
  };
}

/** Leaves out definitions that nothing refers to: some servers send all of theirs with every tool. */
function withoutUnused(schema) {
  const { $defs = {}, definitions = {}, ...rest } = schema;
  const all = { $defs, definitions };
  const used = { $defs: {}, definitions: {} };
  const visit = (value) => {
    if (typeof value !== "object" || value === null) return;
    const [, group, name] = DEFINITIONS.exec(typeof value.$ref === "string" ? value.$ref : "") ?? [];
    if (name !== undefined && all[group][name] !== undefined && used[group][name] === undefined) {
      used[group][name] = all[group][name];
      visit(all[group][name]);
    }
    for (const child of Object.values(value)) visit(child);
  };
  visit(rest);
  const kept = Object.entries(used).filter(([, group]) => Object.keys(group).length > 0);
  return { ...rest, ...Object.fromEntries(kept) };
}

/** Returns the values of a keyword everywhere in a schema; properties may have the same name. */
function collect(schema, keyword, isMap = false) {
  if (typeof schema !== "object" || schema === null) return [];
  if (Array.isArray(schema)) return schema.flatMap((item) => collect(item, keyword));
  return Object.entries(schema).flatMap(([key, value]) => {
    if (
      !isMap &&
      key === keyword &&
      (keyword === "const" || typeof value !== "object" || Array.isArray(value))
    )
      return [value];
    if (!isMap && ["default", "examples", "example", "enum", "const"].includes(key)) return [];
    const isSchemaMap = ["properties", "patternProperties", "$defs", "definitions"].includes(key);
    return collect(value, keyword, !isMap && isSchemaMap);
  });
}

function toWords(texts) {
  return [...texts].flatMap((text) => text.match(/[\p{L}\p{N}]+/gu) ?? []);
}

/** Every word can be found as often as it occurs. */
function takeFrom(words) {
  const counts = new Map();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return (word) => {
    const count = counts.get(word) ?? 0;
    counts.set(word, count - 1);
    return count > 0;
  };
}

function share(items, isKept) {
  const all = [...items];
  const lost = all.filter((item) => !isKept(item));
  return { total: all.length, lost };
}

function report(measured) {
  const kept = (key) => {
    const total = measured.reduce((sum, tool) => sum + tool[key].total, 0);
    const lost = measured.reduce((sum, tool) => sum + tool[key].lost.length, 0);
    return (total - lost) / Math.max(1, total);
  };
  const sizes = measured.map(({ size }) => size);
  const lines = [
    ["words of descriptions kept", kept("words"), "≥", THRESHOLDS.words],
    ["enum values kept", kept("enums"), "≥", THRESHOLDS.enums],
    ["required names kept", kept("required"), "≥", THRESHOLDS.required],
    ["size, median", median(sizes), "≤", THRESHOLDS.medianSize],
    ["size, maximum", Math.max(...sizes), "≤", THRESHOLDS.maxSize],
  ].map(([name, value, sign, limit]) => ({
    name,
    value,
    sign,
    limit,
    isMet: sign === "≥" ? value >= limit : value <= limit,
  }));
  process.stdout.write(
    `${measured.length} tools\n\n| measure | value | limit | |\n| --- | --- | --- | --- |\n`,
  );
  for (const { name, value, sign, limit, isMet } of lines)
    process.stdout.write(
      `| ${name} | ${value.toFixed(4)} | ${sign} ${limit} | ${isMet ? "met" : "missed"} |\n`,
    );
  printWorst(measured, Number(flags.worst ?? 0));
  return lines.every(({ isMet }) => isMet);
}

function printWorst(measured, count) {
  for (const key of ["words", "enums", "required"]) {
    const worst = measured.filter((tool) => tool[key].lost.length > 0);
    for (const tool of worst.toSorted((a, b) => b[key].lost.length - a[key].lost.length).slice(0, count))
      process.stdout.write(
        `${key} lost: ${tool.server} ${tool.name}: ${tool[key].lost.slice(0, 20).join(" ")}\n`,
      );
  }
  for (const tool of measured.toSorted((a, b) => b.size - a.size).slice(0, count))
    process.stdout.write(`size: ${tool.server} ${tool.name}: ${tool.size.toFixed(2)}\n`);
}
