/** How the lines of a server are read and written. */
export interface LineCodec {
  decode(bytes: Buffer): string;
  /** For JSON texts only. */
  encode(json: string): string;
}

const BEYOND_ASCII = /[\u0080-\uffff]/g;

export function createLineCodec(encoding = "utf-8"): LineCodec {
  const decoder = new TextDecoder(encoding);
  if (decoder.encoding === "utf-8")
    return { decode: (bytes) => bytes.toString("utf8"), encode: (json) => json };
  // Written in ASCII, JSON says the same in every encoding.
  return { decode: (bytes) => decoder.decode(bytes), encode: (json) => json.replace(BEYOND_ASCII, escaped) };
}

function escaped(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
