/** Where a WebSocket's HTTP side is: what opens it, tokens, proxies. Other addresses stay as they are. */
export function toHttpUrl(url: URL): URL {
  return new URL(url.href.replace(/^ws/, "http"));
}
