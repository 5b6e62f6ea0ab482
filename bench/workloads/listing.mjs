import { toLine } from "../measure/rotate.mjs";

/** Connecting, listing and converting the tools of one server, the most of `toolCounts`. */
export async function* listing(bench) {
  const toolCount = bench.size.toolCounts.at(-1);
  const servers = await bench.openServer("bare", { toolCount });
  const rounds = bench.size.slowRounds;
  const result = await bench.blocks("open", { servers, toolCount }, { rounds });
  const title = `listing and converting ${toolCount} tools`;
  yield toLine({ id: "listing", title, unit: "ms" }, result, ({ ms }) => ms);
}
