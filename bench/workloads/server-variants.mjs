/** Every combination of server implementation and response type. */
export const SERVER_VARIANTS = ["bare", "sdk"].flatMap((kind) =>
  ["json", "sse"].map((responseType) => ({ kind, responseType })),
);

export function toVariantTitle({ kind, responseType }) {
  return `${responseType.toUpperCase()}, ${kind === "sdk" ? "SDK" : "bare"} server`;
}
