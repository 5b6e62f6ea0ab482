import {
  McpClient,
  type McpClientOptions,
  type McpRuntimeError,
  type ServerDefinition,
} from "../../src/index.js";
import type { McpTestServer } from "../../src/testing/index.js";

/** Without what would repeat a request or hold it back: most stories are about a single one. */
export const ONCE = { retry: false, breaker: false } as const;

/** A client of a test server over HTTP. */
export function clientOf(
  server: McpTestServer,
  definition: Partial<Extract<ServerDefinition, { url: unknown }>> = {},
  options: McpClientOptions = {},
): McpClient {
  return new McpClient({ name: "test", ...ONCE, ...definition, url: server.url } as never, options);
}

export function echo(text = "hello") {
  return { name: "echo", args: { text } };
}

export function times<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

/** What a promise rejects with; a result is a mistake. */
export async function failureOf(promise: Promise<unknown>): Promise<McpRuntimeError> {
  const value = await promise.then(
    (result) => ({ result }),
    (error: unknown) => ({ error }),
  );
  if ("result" in value) throw new Error(`expected a failure, found ${JSON.stringify(value.result)}`);
  return value.error as McpRuntimeError;
}

/** A promise that is settled from outside. */
export function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open: (() => void) | undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open?.() };
}

/** Until something that another process or the network does is true. */
export async function eventually(check: () => boolean | Promise<boolean>, withinMs = 10_000): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (!(await check())) {
    if (performance.now() > deadline) throw new Error(`not true within ${withinMs} ms: ${check.toString()}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Says something until it is heard: a stream may be on its way still when the first word is said. */
export async function sayUntil(say: () => Promise<void>, isHeard: () => boolean): Promise<void> {
  const isHeardSoon = () =>
    eventually(isHeard, 100).then(
      () => true,
      () => false,
    );
  await eventually(async () => {
    await say();
    return isHeardSoon();
  });
}
