import type { McpClientEvents } from "./mcp-client-events.js";

type Lines = { readonly [Name in keyof McpClientEvents]?: (event: McpClientEvents[Name]) => string };

/** What the log says of an event, for whoever wants to see everything. Events that are not here have no line. */
const LINES: Lines = {
  requestEnded: ({ server, method, tool, kind, latencyMs, attempts }) =>
    `${about(server, method, tool)} ${kind ?? "ok"} after ${ms(latencyMs)}${often(attempts)}`,
  requestRetried: ({ server, method, tool, kind, attempts, waitMs }) =>
    `${about(server, method, tool)} ${kind}, attempt ${attempts}; again in ${ms(waitMs)}`,
  handshakeEnded: ({ server, kind, latencyMs, protocolVersion }) =>
    `${about(server, "handshake", undefined)} ${kind ?? "ok"} after ${ms(latencyMs)}${version(protocolVersion)}`,
  sessionLost: ({ server, generation }) => `Server "${server}" forgot session ${generation}`,
  sessionEnded: ({ server, generation, durationMs }) =>
    `Server "${server}": session ${generation} ended after ${ms(durationMs)}`,
  connectionLost: ({ server, generation }) =>
    `Server "${server}": the connection of session ${generation} was lost`,
  breakerChanged: ({ server, state }) => `Server "${server}": the breaker is ${state}`,
};

export function hasLine(name: keyof McpClientEvents): boolean {
  return LINES[name] !== undefined;
}

export function lineOf<Name extends keyof McpClientEvents>(
  name: Name,
  event: McpClientEvents[Name],
): string | undefined {
  return LINES[name]?.(event);
}

function about(server: string, method: string, tool: string | undefined): string {
  return `Server "${server}": ${tool === undefined ? method : `${method} ${tool}`}`;
}

function ms(value: number): string {
  return `${value.toFixed(value < 10 ? 1 : 0)} ms`;
}

function often(attempts: number): string {
  return attempts === 1 ? "" : `, ${attempts === 0 ? "not sent" : `${attempts} attempts`}`;
}

function version(protocolVersion: string | undefined): string {
  return protocolVersion === undefined ? "" : `, protocol ${protocolVersion}`;
}
