import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

let collect: (() => void) | undefined;

/** What is left afterwards is held by somebody. */
export function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  collect ??= runInNewContext("gc") as () => void;
  collect();
}
