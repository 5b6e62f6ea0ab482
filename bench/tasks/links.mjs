import { openLinks } from "../measure/open-links.mjs";
import { median } from "../measure/statistics.mjs";

const WAYS = ["call", "with", "without"];

/**
 * What all links add, as a share of the call that a user makes. Single calls take turns for the median,
 * short blocks for the CPU: a few per cent are less than what the machine does from one second to the next.
 */
export async function run({ servers, call, calls, cpuBlocks, cpuBlockMs }) {
  const links = await openLinks(servers);
  try {
    return {
      p50: await p50Share(links, call, calls),
      cpu: await cpuShare(links, call, cpuBlocks, cpuBlockMs),
    };
  } finally {
    await links.close();
  }
}

async function p50Share(links, call, calls) {
  const times = { call: [], with: [], without: [] };
  for (let n = 0; n < calls; n += 1) {
    for (const way of inTurn(n)) {
      const start = performance.now();
      await links[way](call);
      times[way].push(performance.now() - start);
    }
  }
  return shareOf({
    call: median(times.call),
    with: median(times.with),
    without: median(times.without),
  });
}

async function cpuShare(links, call, blocks, blockMs) {
  const shares = [];
  for (let n = 0; n < blocks; n += 1) {
    const cpu = {};
    for (const way of inTurn(n)) cpu[way] = await cpuOfCall(() => links[way](call), blockMs);
    shares.push(shareOf(cpu));
  }
  return median(shares);
}

function shareOf({ call, with: all, without: none }) {
  return (all - none) / call;
}

async function cpuOfCall(makeCall, blockMs) {
  let calls = 0;
  const before = process.cpuUsage();
  for (const end = performance.now() + blockMs; performance.now() < end; calls += 1) await makeCall();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / calls;
}

/** Each way comes first as often as the others. */
function inTurn(n) {
  return WAYS.map((_, place) => WAYS[(place + n) % WAYS.length]);
}
