import type { ResponseHeaders } from "../../net/http-request.js";

export function isOfType(headers: ResponseHeaders, type: string): boolean {
  return contentType(headers).toLowerCase().startsWith(type);
}

/** How a body is compressed. We ask for none; a server may do it all the same. */
export function encodingOf(headers: ResponseHeaders): string | undefined {
  const encoding = headers["content-encoding"];
  return typeof encoding === "string" && encoding !== "identity" ? encoding : undefined;
}

export function describeContent(headers: ResponseHeaders): string {
  const type = contentType(headers);
  return type === "" ? "without content" : `with "${type}"`;
}

function contentType(headers: ResponseHeaders): string {
  return String(headers["content-type"] ?? "");
}
