import type { Exit } from "./exit-codes.js";
import type { Finding } from "./findings/finding.js";

/** What is wrong decides; that nobody said yes only where nothing else is. */
export function exitOf(findings: readonly Finding[]): Exit {
  const errors = findings.filter(({ severity }) => severity === "error");
  if (errors.some(({ code }) => code !== "yes-needed")) return "failed";
  return errors.length > 0 ? "refused" : "ok";
}
