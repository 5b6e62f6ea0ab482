import { openLinks } from "../measure/open-links.mjs";
import { median } from "../measure/statistics.mjs";

/** All over one session. */
const WAYS = ["with", "without", "blind", "heard"];

/**
 * What all links add, what counting and telling add, and what a listener adds, as shares of the call
 * that a user makes. Single calls take turns for the median,
 * short blocks for the CPU: a few per cent are less than what the machine does from one second to the next.
 */
export async function run({ servers, call, calls, cpuBlocks, cpuBlockMs }) {
  const links = await openLinks(servers);
  try {
    return {
      p50: await p50Shares(links, call, calls),
      cpu: await cpuShares(links, call, cpuBlocks, cpuBlockMs),
    };
  } finally {
    await links.close();
  }
}

async function p50Shares(links, call, calls) {
  const times = Object.fromEntries(["call", ...WAYS].map((way) => [way, []]));
  const measure = async (way) => {
    const start = performance.now();
    await links[way](call);
    times[way].push(performance.now() - start);
  };
  for (let n = 0; n < calls; n += 1) for (const way of inTurn(n)) await measure(way);
  // By itself: it has a connection of its own, and between two connections both would be quiet.
  for (let n = 0; n < calls; n += 1) await measure("call");
  return sharesOf(Object.fromEntries(Object.keys(times).map((way) => [way, median(times[way])])));
}

async function cpuShares(links, call, blocks, blockMs) {
  const shares = [];
  for (let n = 0; n < blocks; n += 1) {
    const cpu = {};
    for (const way of ["call", ...inTurn(n)]) cpu[way] = await cpuOfCall(() => links[way](call), blockMs);
    shares.push(sharesOf(cpu));
  }
  const medianOf = (name) => median(shares.map((share) => share[name]));
  return { all: medianOf("all"), telling: medianOf("telling"), listening: medianOf("listening") };
}

function sharesOf({ call, with: all, without, blind, heard }) {
  return {
    all: (all - without) / call,
    telling: (all - blind) / call,
    listening: (heard - all) / call,
  };
}

async function cpuOfCall(makeCall, blockMs) {
  let calls = 0;
  const before = process.cpuUsage();
  for (const end = performance.now() + blockMs; performance.now() < end; calls += 1) await makeCall();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / calls;
}

/** Each way comes first, and after each of its neighbours, as often as the others. */
function inTurn(n) {
  const turned = WAYS.map((_, place) => WAYS[(place + n) % WAYS.length]);
  return n % 2 === 0 ? turned : turned.toReversed();
}
