import { openLinks } from "../measure/open-links.mjs";
import { median } from "../measure/statistics.mjs";

/**
 * Two ways of the same call, one with all links. Single calls take turns for the median, short blocks
 * for the CPU: a few per cent are less than what the machine does from one second to the next.
 */
export async function run({ servers, call, calls, cpuBlocks, cpuBlockMs }) {
  const links = await openLinks(Object.values(servers)[0]);
  try {
    return {
      p50: await p50Ratio(links, call, calls),
      cpu: await cpuRatio(links, call, cpuBlocks, cpuBlockMs),
    };
  } finally {
    await links.close();
  }
}

async function p50Ratio(links, call, calls) {
  const times = { with: [], without: [] };
  for (let n = 0; n < calls; n += 1) {
    for (const way of inTurn(n)) {
      const start = performance.now();
      await links[way](call);
      times[way].push(performance.now() - start);
    }
  }
  return median(times.with) / median(times.without);
}

async function cpuRatio(links, call, blocks, blockMs) {
  const ratios = [];
  for (let n = 0; n < blocks; n += 1) {
    const cpu = {};
    for (const way of inTurn(n)) cpu[way] = await cpuOfCall(() => links[way](call), blockMs);
    ratios.push(cpu.with / cpu.without);
  }
  return median(ratios);
}

async function cpuOfCall(makeCall, blockMs) {
  let calls = 0;
  const before = process.cpuUsage();
  for (const end = performance.now() + blockMs; performance.now() < end; calls += 1) await makeCall();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / calls;
}

function inTurn(n) {
  return n % 2 === 0 ? ["with", "without"] : ["without", "with"];
}
