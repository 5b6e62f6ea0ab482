import { ADAPTER, BASELINE, PEER_FILES, RUNTIME } from "../peers/index.mjs";

/** Heap growth over 90,000 calls below which we report no growth. */
const NO_GROWTH = 1.02;

/** The thresholds of a run: title, line, peer to compare with, comparison and limit of the ratio. */
const THRESHOLDS = [
  ["p50 vs adapter, JSON", "sequential/bare/json/p50", ADAPTER, "<=", 0.55],
  ["p50 vs adapter, SSE", "sequential/bare/sse/p50", ADAPTER, "<=", 0.5],
  ["p50 vs baseline, JSON", "sequential/bare/json/p50", BASELINE, "<=", 1.15],
  ["p50 vs baseline, SSE", "sequential/bare/sse/p50", BASELINE, "<=", 1.2],
  ["CPU per call vs adapter, JSON", "sequential/bare/json/cpu", ADAPTER, "<=", 0.4],
  ["CPU per call vs adapter, SSE", "sequential/bare/sse/cpu", ADAPTER, "<=", 0.3],
  ["64 concurrent calls vs adapter, bare server, JSON", "throughput/bare/json", ADAPTER, ">=", 5],
  ["64 concurrent calls vs adapter, bare server, SSE", "throughput/bare/sse", ADAPTER, ">=", 6],
  ["64 concurrent calls vs adapter, SDK server, JSON", "throughput/sdk/json", ADAPTER, ">=", 2],
  ["64 concurrent calls vs adapter, SDK server, SSE", "throughput/sdk/sse", ADAPTER, ">=", 3],
  ["1 MB result vs baseline, JSON", "large-result/json/p50", BASELINE, "<=", 1.2],
  ["1 MB result vs baseline, SSE", "large-result/sse/p50", BASELINE, "<=", 1.2],
  ["listing 1,000 tools vs adapter", "listing", ADAPTER, "<=", 0.7],
  ["10 servers with 50 ms latency vs adapter", "cold-start/10/50", ADAPTER, "<=", 0.25],
  ...Object.keys(PEER_FILES)
    .filter((peer) => peer !== RUNTIME && peer !== BASELINE)
    .map((peer) => [`50 servers with 50 ms latency vs ${peer}`, "cold-start/50/50", peer, "<=", 1]),
  ["500 servers vs 50, with 50 ms latency: time per server", "many-servers/time", RUNTIME, "<=", 1.5],
  ["1,000 servers vs 200: CPU per server", "many-servers/cpu", RUNTIME, "<=", 1.5],
  ["1,000 late servers vs 200: CPU per server", "many-servers/late-cpu", RUNTIME, "<=", 1.5],
  ["import vs adapter", "import", ADAPTER, "<=", 0.5],
  ["first response of a process vs adapter", "first-call", ADAPTER, "<=", 0.8],
  ["first response of a process vs adapter, CPU", "first-call/cpu", ADAPTER, "<=", 0.8],
  ["first response of a process vs @ai-sdk/mcp", "first-call", "@ai-sdk/mcp", "<=", 1.25],
  ["first response of a process vs @ai-sdk/mcp, CPU", "first-call/cpu", "@ai-sdk/mcp", "<=", 1.25],
  ["first response, stored tools and session vs adapter", "first-call/store", ADAPTER, "<=", 0.6],
  ["first response, stored tools and session vs adapter, CPU", "first-call/store/cpu", ADAPTER, "<=", 0.6],
  ["first response, stored tools and session: requests", "first-call/store/requests", RUNTIME, "<=", 1],
  ["first response, snapshots and stored session vs adapter", "first-call/snapshots", ADAPTER, "<=", 0.6],
  [
    "first response, snapshots and stored session vs adapter, CPU",
    "first-call/snapshots/cpu",
    ADAPTER,
    "<=",
    0.6,
  ],
  [
    "first response, snapshots and stored session: requests",
    "first-call/snapshots/requests",
    RUNTIME,
    "<=",
    1,
  ],
  ["1,000 tools from memory vs the SDK server", "catalog-cache/registered/memory", RUNTIME, "<=", 0.02],
  ["1,000 tools from a file vs the SDK server", "catalog-cache/registered/file", RUNTIME, "<=", 0.2],
  ["1,000 tools from memory vs a bare server", "catalog-cache/bare/memory", RUNTIME, "<=", 0.02],
  ["middleware overhead, SDK server: p50, JSON", "middleware/all/sdk/json/p50", RUNTIME, "<=", 0.03],
  ["middleware overhead, SDK server: p50, SSE", "middleware/all/sdk/sse/p50", RUNTIME, "<=", 0.03],
  ["middleware overhead, bare server: p50, JSON", "middleware/all/bare/json/p50", RUNTIME, "<=", 0.03],
  ["middleware overhead, bare server: p50, SSE", "middleware/all/bare/sse/p50", RUNTIME, "<=", 0.03],
  [
    "telemetry overhead without listeners: p50, JSON",
    "middleware/telemetry/bare/json/p50",
    RUNTIME,
    "<=",
    0.01,
  ],
  [
    "telemetry overhead without listeners: p50, SSE",
    "middleware/telemetry/bare/sse/p50",
    RUNTIME,
    "<=",
    0.01,
  ],
  ["hostile schemas: listing, CPU ms more than plain", "hostile-schemas/longest/listing", RUNTIME, "<=", 50],
  ["hostile schemas: first call, CPU ms more than plain", "hostile-schemas/longest/call", RUNTIME, "<=", 50],
  ["heap from call 10,000 to 100,000, JSON (up to 2 % is no growth)", "heap/json", RUNTIME, "<=", NO_GROWTH],
  ["heap from call 10,000 to 100,000, SSE (up to 2 % is no growth)", "heap/sse", RUNTIME, "<=", NO_GROWTH],
];

/** Compares the measured lines with their thresholds; thresholds of lines that were not measured are left out. */
export function compareWithThresholds(lines) {
  const linesById = new Map(lines.map((line) => [line.id, line]));
  return THRESHOLDS.flatMap(([title, id, peer, comparison, limit]) => {
    const ratio = linesById.get(id)?.ratios[peer];
    if (ratio === undefined) return [];
    const isMet = comparison === "<=" ? ratio.median <= limit : ratio.median >= limit;
    return [{ title, line: id, peer, comparison, limit, ratio, isMet }];
  });
}
