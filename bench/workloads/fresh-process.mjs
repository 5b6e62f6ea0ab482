import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { toLine } from "../measure/run-rounds.mjs";
import { RUNTIME } from "../peers/index.mjs";
import { ECHO_CALL } from "./echo-call.mjs";

/** The startup cost of a short-lived process: the import, and the first response, with and without a store. */
export async function* freshProcess(bench) {
  const servers = await bench.openServer("bare", { responseType: "json" });
  const rounds = bench.size.freshProcessRounds;
  const result = await bench.runInFreshProcesses("first-call", { servers, call: ECHO_CALL }, { rounds });
  const importTitle = "import, excluding @langchain/core/tools";
  yield toLine({ id: "import", title: importTitle, unit: "ms" }, result, ({ importMs }) => importMs);
  const callTitle = "fresh process: LangChain, import, connect, first response";
  yield* toCallLines("first-call", callTitle, result);

  for (const tools of ["store", "snapshots"]) {
    const folder = mkdtempSync(join(tmpdir(), "bench-store-"));
    try {
      const params = { servers, call: ECHO_CALL, stored: { folder, tools } };
      // The first process opens the session that the others use.
      await bench.runInFreshProcesses("first-call", params, { rounds: 1, peers: [RUNTIME] });
      const stored = await bench.runInFreshProcesses("first-call", params, { rounds });
      const id = `first-call/${tools}`;
      const title = `fresh process, tools from ${tools === "store" ? "a store" : tools}, stored session`;
      yield* toCallLines(id, title, stored);
      const about = { id: `${id}/requests`, title: `${title}: requests`, unit: "requests" };
      const own = { blocks: { [RUNTIME]: stored.blocks[RUNTIME] ?? [] }, failures: {} };
      yield { ...toLine(about, own, ({ requests }) => requests), isRatio: true };
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
}

function* toCallLines(id, title, result) {
  yield toLine({ id, title, unit: "ms" }, result, ({ firstCallMs }) => firstCallMs);
  const cpu = { id: `${id}/cpu`, title: `${title}: CPU`, unit: "ms" };
  yield toLine(cpu, result, ({ firstCallCpuMs }) => firstCallCpuMs);
}
