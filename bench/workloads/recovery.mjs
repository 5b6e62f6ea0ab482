import { toLine } from "../measure/rotate.mjs";
import { ECHO } from "./echo.mjs";

/** The server forgets its sessions, as a restart does, and 50 calls arrive. */
export async function* recovery(bench) {
  const servers = await bench.openServer("bare", { answers: "json" });
  const result = await bench.blocks("recover", { servers, call: ECHO, calls: 50 });
  const title = "recovery: from the first 404 to 50 answers";
  yield toLine({ id: "recovery", title, unit: "ms" }, result, ({ ms }) => ms);
  const calm = { id: "recovery/to-calm", title: "recovery, to 50 answers undisturbed", unit: "x" };
  yield { ...toLine(calm, result, ({ toCalm }) => toCalm), shows: "own", failures: {} };
}
