import { toLine } from "../measure/run-rounds.mjs";
import { ECHO_CALL } from "./echo-call.mjs";

/** The server drops its sessions, as a restart does, and 50 concurrent calls arrive. */
export async function* recovery(bench) {
  const servers = await bench.openServer("bare", { responseType: "json" });
  const result = await bench.runBlocks("recover", { servers, call: ECHO_CALL, calls: 50 });
  const title = "recovery: from the first 404 to 50 responses";
  yield toLine({ id: "recovery", title, unit: "ms" }, result, ({ ms }) => ms);
  const relative = {
    id: "recovery/relative",
    title: "recovery, relative to 50 undisturbed calls",
    unit: "x",
  };
  yield { ...toLine(relative, result, ({ ratio }) => ratio), isRatio: true, failures: {} };
}
