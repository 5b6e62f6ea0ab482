import type * as api from "@opentelemetry/api";

/** OpenTelemetry's API, which is loaded when somebody wants it. */
export type OtelApi = typeof api;
