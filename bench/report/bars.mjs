import { ADAPTER, FLOOR, OURS } from "../peers/index.mjs";

/** Our reading of "no trend": less than this over 90,000 calls. A test for any trend at all is stricter. */
const NO_TREND = 1.02;

/** What must hold within a run: a line, the peer it is measured by, and the limit of the ratio. */
const BARS = [
  ["p50 to the adapter, JSON", "sequential/bare/json/p50", ADAPTER, "<=", 0.55],
  ["p50 to the adapter, SSE", "sequential/bare/sse/p50", ADAPTER, "<=", 0.5],
  ["p50 to the floor, JSON", "sequential/bare/json/p50", FLOOR, "<=", 1.15],
  ["p50 to the floor, SSE", "sequential/bare/sse/p50", FLOOR, "<=", 1.2],
  ["CPU a call to the adapter, JSON", "sequential/bare/json/cpu", ADAPTER, "<=", 0.4],
  ["CPU a call to the adapter, SSE", "sequential/bare/sse/cpu", ADAPTER, "<=", 0.3],
  ["64 at once to the adapter, bare server, JSON", "throughput/bare/json", ADAPTER, ">=", 5],
  ["64 at once to the adapter, bare server, SSE", "throughput/bare/sse", ADAPTER, ">=", 6],
  ["64 at once to the adapter, SDK server, JSON", "throughput/sdk/json", ADAPTER, ">=", 2],
  ["64 at once to the adapter, SDK server, SSE", "throughput/sdk/sse", ADAPTER, ">=", 3],
  ["ten servers of 50 ms to the adapter", "cold-start/10/50", ADAPTER, "<=", 0.25],
  ["import to the adapter", "import", ADAPTER, "<=", 0.5],
  ["1,000 tools from memory, by the SDK's server", "stored/registered/memory", OURS, "<=", 0.02],
  ["1,000 tools from a file, by the SDK's server", "stored/registered/file", OURS, "<=", 0.2],
  ["1,000 tools from memory, by a bare server", "stored/bare/memory", OURS, "<=", 0.02],
  ["1,000 tools from a file, by a bare server", "stored/bare/file", OURS, "<=", 0.2],
  ["what all links add to a call, SDK server: p50, JSON", "links/all/sdk/json/p50", OURS, "<=", 0.03],
  ["what all links add to a call, SDK server: p50, SSE", "links/all/sdk/sse/p50", OURS, "<=", 0.03],
  ["what all links add to a call, SDK server: CPU, JSON", "links/all/sdk/json/cpu", OURS, "<=", 0.03],
  ["what all links add to a call, SDK server: CPU, SSE", "links/all/sdk/sse/cpu", OURS, "<=", 0.03],
  ["what all links add to a call, bare server: p50, JSON", "links/all/bare/json/p50", OURS, "<=", 0.03],
  ["what all links add to a call, bare server: p50, SSE", "links/all/bare/sse/p50", OURS, "<=", 0.03],
  ["what all links add to a call, bare server: CPU, JSON", "links/all/bare/json/cpu", OURS, "<=", 0.03],
  ["what all links add to a call, bare server: CPU, SSE", "links/all/bare/sse/cpu", OURS, "<=", 0.03],
  [
    "what counting and telling add, nobody listening: p50, JSON",
    "links/telling/bare/json/p50",
    OURS,
    "<=",
    0.01,
  ],
  [
    "what counting and telling add, nobody listening: p50, SSE",
    "links/telling/bare/sse/p50",
    OURS,
    "<=",
    0.01,
  ],
  ["heap from call 10,000 to 100,000, JSON (2 % taken as no trend)", "heap/json", OURS, "<=", NO_TREND],
  ["heap from call 10,000 to 100,000, SSE (2 % taken as no trend)", "heap/sse", OURS, "<=", NO_TREND],
];

/** @returns the bars whose lines were measured, each with what was found. */
export function checkBars(lines) {
  const byId = new Map(lines.map((line) => [line.id, line]));
  return BARS.flatMap(([title, id, peer, comparison, limit]) => {
    const ratio = byId.get(id)?.ratios[peer];
    if (ratio === undefined) return [];
    const isMet = comparison === "<=" ? ratio.median <= limit : ratio.median >= limit;
    return [{ title, line: id, peer, comparison, limit, ratio, isMet }];
  });
}
