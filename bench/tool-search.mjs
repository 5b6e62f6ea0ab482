// How well tools are found: the share of the tools that a task needs which appear in the results of its searches.
// Usage: node bench/tool-search.mjs --data <folder with servers.json and tasks.json>
//
// This is retrieval, not task success: no model is involved. Both halves of the tasks were looked at
// while settings were chosen, so neither is a blind test.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createMcpTools } from "../dist/index.js";
import { createToolDisclosure } from "../dist/langchain/langgraph.js";
import { McpTestServer } from "../dist/testing/index.js";

const { values: flags } = parseArgs({ options: { data: { type: "string" } } });
const folder = flags.data ?? "";
if (!existsSync(join(folder, "servers.json"))) {
  console.log("Skipped: --data <folder> with servers.json and tasks.json is needed (see bench/README.md).");
  process.exit(0);
}
const servers = JSON.parse(readFileSync(join(folder, "servers.json"), "utf8"));
const tasks = JSON.parse(readFileSync(join(folder, "tasks.json"), "utf8"));

/** The same estimate as the library: a token per four ASCII characters, and one per other character. */
const countTokens = (text) => {
  const others = text.match(/[^ -~\s]/g)?.length ?? 0;
  return Math.ceil((text.length - others) / 4 + others);
};
const toDefinition = (tool) =>
  JSON.stringify({ name: tool.name, description: tool.description, parameters: tool.schema });
const silent = { debug() {}, info() {}, warn() {}, error() {} };

/** Serves the tools of the data; `change` leaves out what an ablation does without. */
async function openToolset(change = (tool) => tool, hasServerNames = true) {
  const definitions = servers.map(({ server, about, tools }, index) => {
    const served = tools.map((tool) => ({ ...change(tool), run: () => "" }));
    const options = hasServerNames ? { tools: served, instructions: about } : { tools: served };
    return [hasServerNames ? server : `s${index}`, { server: new McpTestServer(options) }];
  });
  return createMcpTools(Object.fromEntries(definitions), { logger: silent });
}

async function measure(toolset, options, half) {
  const disclosure = createToolDisclosure(toolset, { mode: "search", ...options });
  const [search] = disclosure.tools;
  const originalNames = new Map(toolset.tools.map(({ name, mcp }) => [name, mcp.name]));
  const sources = {
    queries: (task) => task.queries,
    steps: (task) => task.steps,
    question: (task) => [task.question],
  };
  const results = {};
  for (const [source, getQueries] of Object.entries(sources)) {
    let [needed, found, tokens, searches, most] = [0, 0, 0, 0, 0];
    const count = tasks.filter((_, index) => index % 2 === half).length;
    for (const task of tasks.filter((_, index) => index % 2 === half)) {
      const shown = new Set();
      for (const query of getQueries(task)) {
        const text = await search.invoke({ query });
        const cost = countTokens(text);
        [tokens, searches, most] = [tokens + cost, searches + 1, Math.max(most, cost)];
        for (const [name] of text.matchAll(/[\w-]+/g))
          if (originalNames.has(name)) shown.add(originalNames.get(name));
      }
      needed += task.tools.length;
      found += task.tools.filter((name) => shown.has(name)).length;
    }
    results[source] = {
      recall: found / needed,
      tokensPerSearch: tokens / searches,
      tokensPerTask: tokens / count,
      most,
    };
  }
  return results;
}

function print(label, results) {
  const cells = Object.entries(results).map(
    ([source, { recall, tokensPerSearch, tokensPerTask, most }]) =>
      `${source} ${recall.toFixed(2)} (${tokensPerSearch.toFixed(0)} tokens per search, at most ${most}; ${tokensPerTask.toFixed(0)} per task)`,
  );
  console.log(`${label}: ${cells.join("; ")}`);
}

const toolset = await openToolset();
const all = toolset.tools.reduce((total, tool) => total + countTokens(toDefinition(tool)), 0);
const disclosure = createToolDisclosure(toolset, { mode: "search" });
const first = (await disclosure.selectTools({ messages: [] })).reduce(
  (total, tool) => total + countTokens(toDefinition(tool)),
  0,
);
console.log(`${toolset.tools.length} tools of ${servers.length} servers`);
console.log(
  `definitions at the first model call: all tools ${all} tokens, search ${first} (${((100 * first) / all).toFixed(1)} %)`,
);
print("even tasks", await measure(toolset, {}, 0));
print("odd tasks", await measure(toolset, {}, 1));
print(
  "without sibling names",
  await measure(toolset, { search: { siblings: 1, limit: 5, maxTokens: 200 } }, 1),
);
print("siblings of three servers", await measure(toolset, { search: { siblings: 3 } }, 1));
await toolset.close();

const withoutDescriptions = await openToolset((tool) => ({ ...tool, description: undefined }));
print("without descriptions", await measure(withoutDescriptions, {}, 1));
await withoutDescriptions.close();

const withoutServerNames = await openToolset(undefined, false);
print("without server names and instructions", await measure(withoutServerNames, {}, 1));
await withoutServerNames.close();

// Speed: an index against a linear scan over the same tools.
const { SearchIndex } = await import("../build/tool-search/search-index.js").catch(() => ({}));
if (SearchIndex !== undefined) {
  const documents = Array.from({ length: 10_000 }, (_, index) => {
    const { server, tools } = servers[index % servers.length];
    const tool = tools[index % tools.length];
    return [index, `${tool.name} ${index}`, tool.description ?? "", server];
  });
  const index = new SearchIndex();
  const started = performance.now();
  for (const [id, name, description, server] of documents)
    index.add(id, [
      { text: name, weight: 3 },
      { text: description, weight: 1 },
      { text: server, weight: 1 },
    ]);
  const indexed = performance.now();
  const queries = tasks.flatMap((task) => task.steps).slice(0, 100);
  for (const query of queries) index.search(query);
  const searched = performance.now();
  for (const query of queries) {
    const words = query.toLowerCase().split(/\W+/);
    documents
      .map(([id, name, description]) => [
        id,
        words.filter((word) => `${name} ${description}`.toLowerCase().includes(word)).length,
      ])
      .toSorted(([, left], [, right]) => right - left);
  }
  const scanned = performance.now();
  const ratio = (searched - indexed) / (scanned - searched);
  console.log(
    `10,000 tools: indexed in ${(indexed - started).toFixed(0)} ms; a query ${((searched - indexed) / queries.length).toFixed(1)} ms, ${ratio.toFixed(2)} of a linear scan`,
  );
}
