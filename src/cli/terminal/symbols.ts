import type { Paint } from "./colors.js";
import type { Severity } from "../findings/finding.js";

export type Mark = "ok" | Severity;

const SIGNS: Readonly<Record<Mark, string>> = { ok: "✓", error: "✗", warning: "!", note: "·" };
const BRUSHES: Readonly<Record<Mark, keyof Paint>> = {
  ok: "good",
  error: "bad",
  warning: "doubtful",
  note: "quiet",
};

export function markText(mark: Mark, paint: Paint): string {
  return paint[BRUSHES[mark]](SIGNS[mark]);
}

/** The worst of them. */
export function worstOf(severities: readonly Severity[]): Mark {
  return (["error", "warning"] as const).find((severity) => severities.includes(severity)) ?? "ok";
}
