import { toLine } from "../measure/run-rounds.mjs";
import { ECHO_CALL } from "./echo-call.mjs";

/** The startup cost of a short-lived process: the import, and the time to the first response. */
export async function* freshProcess(bench) {
  const servers = await bench.openServer("bare", { responseType: "json" });
  const rounds = bench.size.freshProcessRounds;
  const result = await bench.runInFreshProcesses("first-call", { servers, call: ECHO_CALL }, { rounds });
  const importTitle = "import, excluding @langchain/core/tools";
  yield toLine({ id: "import", title: importTitle, unit: "ms" }, result, ({ importMs }) => importMs);
  const callTitle = "fresh process: LangChain, import, connect, first response";
  yield toLine({ id: "first-call", title: callTitle, unit: "ms" }, result, ({ firstCallMs }) => firstCallMs);
}
