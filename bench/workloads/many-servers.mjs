import { RUNTIME } from "../peers/index.mjs";

/** What each server costs if there are many, relative to few: 1 is linear. Measured for langchain-mcp-runtime only. */
export async function* manyServers(bench) {
  const counts = bench.size.manyServerCounts;
  const [few] = counts;
  const many = counts.at(-1);
  const measure = async (count, { latencyMs = 0, ...params } = {}) => {
    const servers = await bench.openServer("bare", { servers: count, latencyMs, listChanged: true });
    const { blocks, failures } = await bench.runInFreshProcesses(
      "many-servers",
      { servers, ...params },
      { rounds: bench.size.slowRounds, peers: [RUNTIME], timeoutMs: 120_000 },
    );
    await bench.endWorkload();
    if (failures[RUNTIME] !== undefined) throw new Error(failures[RUNTIME]);
    return { count, blocks: blocks[RUNTIME] };
  };
  const perServer = ({ count, blocks }, getValue) => blocks.map((block) => getValue(block) / count);
  const toLine = (id, title, samples) => {
    return {
      id,
      title,
      unit: "x",
      better: "lower",
      isRatio: true,
      samples: { [RUNTIME]: samples },
      failures: {},
    };
  };
  const relate = (large, small, getValue) => {
    const base = perServer(small, getValue);
    return perServer(large, getValue).map((value, round) => value / base[round]);
  };
  const slow = { latencyMs: bench.size.latenciesMs.at(-1) };
  const [fast50, fast500] = [await measure(few, slow), await measure(counts.at(-2), slow)];
  const title = `${fast500.count} servers relative to ${few}, ${slow.latencyMs} ms latency: time per server`;
  yield toLine(
    "many-servers/time",
    title,
    relate(fast500, fast50, ({ ms }) => ms),
  );
  for (const [id, isLate] of [
    ["cpu", false],
    ["late-cpu", true],
  ]) {
    const results = [];
    // Not relative to few servers, whose cost is mostly that of code that is not compiled yet.
    for (const count of counts.slice(1)) results.push(await measure(count, { isLate }));
    const [first] = results;
    for (const result of results.slice(1))
      yield toLine(
        `many-servers/${id}${result.count === many ? "" : `/${result.count}`}`,
        `${result.count} ${isLate ? "late " : ""}servers relative to ${first.count}: CPU time per server`,
        relate(result, first, ({ cpuMs }) => cpuMs),
      );
    if (isLate) continue;
    const idle = (name, getValue) =>
      toLine(
        `many-servers/${name}`,
        `${many} idle servers: ${name} per server`,
        perServer(results.at(-1), getValue),
      );
    yield idle("heap in kB", ({ heapBytes }) => heapBytes / 1_000);
    yield idle("sockets", ({ sockets }) => sockets);
  }
}
