import { toLine } from "../measure/run-rounds.mjs";
import { RUNTIME } from "../peers/index.mjs";
import { createHostileTools } from "../servers/hostile-tools.mjs";

const STEPS = [
  ["listing", "listing"],
  ["call", "first call"],
];

/** Schemas and results that are made to be expensive, relative to plain ones of the same size. */
export async function* hostileSchemas(bench) {
  const { bytes: hostileBytes, iterations } = bench.size.hostile;
  const urls = Object.values(await bench.openServer("bare", { hostileBytes }));
  const tools = Object.entries(createHostileTools(hostileBytes)).map(([name, { args }], index) => ({
    name,
    args,
    url: urls[index],
  }));
  const [plain, ...hostileTools] = tools;
  const extraMs = { listing: [], call: [] };
  for (const hostile of hostileTools) {
    const params = { plain, hostile, iterations };
    const result = await bench.runBlocks("hostile-schemas", params, {
      rounds: bench.size.slowRounds,
      peers: [RUNTIME],
    });
    for (const [step, label] of STEPS) {
      const title = `${hostile.name}: ${label}, relative to a plain schema`;
      const about = { id: `hostile-schemas/${hostile.name}/${step}`, title, unit: "x" };
      yield { ...toLine(about, result, (block) => block[step].ratio), isRatio: true };
      extraMs[step].push(toLine(about, result, (block) => block[step].extraMs).samples[RUNTIME] ?? []);
    }
  }
  for (const [step, label] of STEPS) {
    const rounds = Array.from({ length: bench.size.slowRounds }, (_, round) =>
      Math.max(...extraMs[step].map((samples) => samples[round] ?? 0)),
    );
    const title = `longest ${label} of all of them, minus a plain one, in ms of CPU`;
    const about = { id: `hostile-schemas/longest/${step}`, title, unit: "ms", better: "lower" };
    yield { ...about, samples: { [RUNTIME]: rounds }, failures: {}, isRatio: true };
  }
}
