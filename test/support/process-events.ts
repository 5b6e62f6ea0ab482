import { MCP_EVENTS, type McpEvents, onMcpEvent } from "../../src/index.js";

export type ProcessEvent = {
  [Name in keyof McpEvents]: { name: Name; event: McpEvents[Name] };
}[keyof McpEvents];

/** Everything that is told on the channels of this process, until it is disposed. */
export class ProcessEvents implements Disposable {
  readonly all: ProcessEvent[] = [];
  readonly #stops = MCP_EVENTS.map((name) =>
    onMcpEvent(name, (event) => this.all.push({ name, event } as ProcessEvent)),
  );

  of<Name extends keyof McpEvents>(name: Name): McpEvents[Name][] {
    return this.all.flatMap((told) => (told.name === name ? [told.event as McpEvents[Name]] : []));
  }

  get names(): string[] {
    return this.all.map(({ name }) => name);
  }

  [Symbol.dispose](): void {
    for (const stop of this.#stops) stop();
  }
}
