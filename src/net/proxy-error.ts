import type { HttpProxy } from "./find-proxy.js";

/** The proxy could not be used. Its message ends a sentence that begins with the server's name. */
export class ProxyError extends Error {
  constructor({ url, variable }: HttpProxy, why: string, cause?: unknown) {
    const where = `cannot be reached through the proxy ${url.origin} (${variable})`;
    super(`${where}: ${why}`, cause === undefined ? undefined : { cause });
  }
}
