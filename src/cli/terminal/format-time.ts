/** `34 ms`, `1.2 s`. */
export function timeText(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : secondsText(ms);
}

/** `0.3 s`, for a time that goes on. */
export function secondsText(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
