import { isAbsolute, relative } from "node:path";
import type { Terminal } from "./terminal.js";

/** A path as it is shown: from here, where it is below, else from home. */
export function shownPath(path: string, { cwd, env }: Pick<Terminal, "cwd" | "env">): string {
  const fromHere = relative(cwd, path);
  if (isBelow(fromHere)) return fromHere;
  const home = env["HOME"] ?? env["USERPROFILE"] ?? "";
  const fromHome = home === "" ? ".." : relative(home, path);
  return isBelow(fromHome) ? `~/${fromHome}` : path;
}

function isBelow(path: string): boolean {
  return path !== "" && !path.startsWith("..") && !isAbsolute(path);
}
