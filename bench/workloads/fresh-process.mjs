import { toLine } from "../measure/rotate.mjs";
import { ECHO } from "./echo.mjs";

/** What a short-lived process pays: the import, and all up to its first answer. */
export async function* freshProcess(bench) {
  const servers = await bench.openServer("bare", { answers: "json" });
  const rounds = bench.size.freshRounds;
  const result = await bench.fresh("first-call", { servers, call: ECHO }, { rounds });
  const importTitle = "import, beyond @langchain/core/tools";
  yield toLine({ id: "import", title: importTitle, unit: "ms" }, result, ({ importMs }) => importMs);
  const callTitle = "fresh process: LangChain, import, connecting, first answer";
  yield toLine({ id: "first-call", title: callTitle, unit: "ms" }, result, ({ firstCallMs }) => firstCallMs);
}
