import { toLine } from "../measure/run-rounds.mjs";

/** Connecting to one server, then listing and converting the largest number of tools in `toolCounts`. */
export async function* listing(bench) {
  const toolCount = bench.size.toolCounts.at(-1);
  const servers = await bench.openServer("bare", { toolCount });
  const result = await bench.runBlocks("open-tools", { servers, toolCount });
  const title = `listing and converting ${toolCount} tools`;
  yield toLine({ id: "listing", title, unit: "ms" }, result, ({ ms }) => ms);
}
