import { openPipeline } from "../measure/open-pipeline.mjs";
import { median } from "../measure/statistics.mjs";

/** Variants of a request over the same session. */
const VARIANTS = ["pipeline", "session", "withoutTelemetry", "withListeners"];

/**
 * The overhead of all middleware, of telemetry and of listeners, as shares of a tool call. Variants
 * alternate (per call for the median, in short blocks for CPU), because the overhead of a few percent
 * is smaller than the drift of the machine from one second to the next.
 */
export async function run({ servers, call, calls, cpuBlocks, cpuBlockMs }) {
  const pipeline = await openPipeline(servers);
  try {
    return {
      p50: await measureP50Shares(pipeline, call, calls),
      cpu: await measureCpuShares(pipeline, call, cpuBlocks, cpuBlockMs),
    };
  } finally {
    await pipeline.close();
  }
}

async function measureP50Shares(pipeline, call, calls) {
  const times = Object.fromEntries(["toolCall", ...VARIANTS].map((variant) => [variant, []]));
  const measure = async (variant) => {
    const start = performance.now();
    await pipeline[variant](call);
    times[variant].push(performance.now() - start);
  };
  for (let n = 0; n < calls; n += 1) for (const variant of rotateVariants(n)) await measure(variant);
  // Measured separately: it uses its own connection, and alternating would leave both connections idle in turn.
  for (let n = 0; n < calls; n += 1) await measure("toolCall");
  return toShares(Object.fromEntries(Object.keys(times).map((variant) => [variant, median(times[variant])])));
}

async function measureCpuShares(pipeline, call, blocks, blockMs) {
  const shares = [];
  for (let n = 0; n < blocks; n += 1) {
    const cpu = {};
    for (const variant of ["toolCall", ...rotateVariants(n)])
      cpu[variant] = await measureCpuPerCall(() => pipeline[variant](call), blockMs);
    shares.push(toShares(cpu));
  }
  const toMedian = (overhead) => median(shares.map((share) => share[overhead]));
  return { all: toMedian("all"), telemetry: toMedian("telemetry"), listeners: toMedian("listeners") };
}

function toShares({ toolCall, pipeline, session, withoutTelemetry, withListeners }) {
  return {
    all: (pipeline - session) / toolCall,
    telemetry: (pipeline - withoutTelemetry) / toolCall,
    listeners: (withListeners - pipeline) / toolCall,
  };
}

async function measureCpuPerCall(makeCall, blockMs) {
  let calls = 0;
  const before = process.cpuUsage();
  for (const end = performance.now() + blockMs; performance.now() < end; calls += 1) await makeCall();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / calls;
}

/** Every variant comes first, and after each of its neighbors, equally often. */
function rotateVariants(n) {
  const rotated = VARIANTS.map((_, index) => VARIANTS[(index + n) % VARIANTS.length]);
  return n % 2 === 0 ? rotated : rotated.toReversed();
}
