import type { Meter, MetricOptions } from "@opentelemetry/api";
import type { McpEvents } from "../../manager/mcp-events.js";
import { attributesOfFailure, attributesOfRequest, attributesOfWay } from "./attributes.js";

/** As the conventions recommend them, in seconds. */
const BOUNDARIES = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];

/** How long requests, handshakes and sessions take, as histograms. */
export class Durations {
  readonly #operations;
  readonly #sessions;

  constructor(meter: Meter) {
    this.#operations = meter.createHistogram(
      "mcp.client.operation.duration",
      inSeconds("How long MCP requests take, with all that is done to get an answer."),
    );
    this.#sessions = meter.createHistogram(
      "mcp.client.session.duration",
      inSeconds("How long MCP sessions last."),
    );
  }

  operationEnded(event: McpEvents["requestEnded"] | McpEvents["handshakeEnded"]): void {
    this.#operations.record(event.latencyMs / 1_000, {
      ...attributesOfRequest(event),
      ...attributesOfWay(event),
      ...attributesOfFailure(event),
    });
  }

  sessionEnded(event: McpEvents["sessionEnded"]): void {
    this.#sessions.record(event.durationMs / 1_000, {
      "langchain_mcp.server": event.server,
      ...attributesOfWay(event),
      ...attributesOfFailure(event),
    });
  }
}

function inSeconds(description: string): MetricOptions {
  return { unit: "s", description, advice: { explicitBucketBoundaries: BOUNDARIES } };
}
