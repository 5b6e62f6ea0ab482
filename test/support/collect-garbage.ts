import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

type Collect = (options?: { readonly type: "minor" }) => void;

let collect: Collect | undefined;

function collector(): Collect {
  setFlagsFromString("--expose-gc");
  collect ??= runInNewContext("gc") as Collect;
  return collect;
}

/** What is left afterwards is held by somebody. */
export function collectGarbage(): void {
  collector()();
}

/** Collects what is young only, as it happens all the time. */
export function collectYoungGarbage(): void {
  collector()({ type: "minor" });
}
