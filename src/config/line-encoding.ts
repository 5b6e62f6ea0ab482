/**
 * Whether texts in this encoding can be told apart line by line: in all that `TextDecoder` knows a
 * line break is one byte that means nothing else, but in UTF-16.
 */
export function isLineEncoding(label: string): boolean {
  try {
    return !new TextDecoder(label).encoding.startsWith("utf-16");
  } catch {
    return false;
  }
}
