import { type Clock, systemClock } from "../async/clock.js";
import { configError } from "../errors/config-error.js";
import { describeValue } from "../json/describe-value.js";
import type { KeyValueStore } from "../stores/key-value-store.js";
import { createConsoleLogger, type Logger } from "../telemetry/logger.js";

export interface ToolRegistryOptions {
  /** Places that processes share, the nearest first: Redis, then DynamoDB. They are yours: you close them. */
  readonly stores?: readonly KeyValueStore[];
  /** How long what was read from them is believed. */
  readonly recordTtlMs?: number;
  /** How often servers are listed anew, by one process for all: up to a fifth earlier, so that not all try at once. */
  readonly refreshIntervalMs?: number;
  readonly logger?: Logger;
  readonly clock?: Clock;
  /** Milliseconds since 1970, the same for all who share the stores. */
  readonly now?: () => number;
  /** From 0 to 1; the dice. */
  readonly random?: () => number;
}

/** Every default of the registry, in one place. The README's table is printed from here. */
export const REGISTRY_DEFAULTS = { recordTtlMs: 60_000, refreshIntervalMs: 300_000 } as const;

export type RegistrySettings = Readonly<Required<ToolRegistryOptions>>;

export function resolveRegistryOptions(options: ToolRegistryOptions): RegistrySettings {
  const { stores = [], logger = createConsoleLogger(), clock = systemClock, now = Date.now } = options;
  const { random = Math.random } = options;
  const {
    recordTtlMs = REGISTRY_DEFAULTS.recordTtlMs,
    refreshIntervalMs = REGISTRY_DEFAULTS.refreshIntervalMs,
  } = options;
  const issues = Object.entries({ recordTtlMs, refreshIntervalMs })
    .filter(([, ms]) => !(typeof ms === "number" && ms > 0))
    .map(([path, ms]) => ({
      path,
      message: `expected a number of milliseconds above 0, found ${describeValue(ms)}`,
    }));
  if (!Array.isArray(stores) || !stores.every(isStore))
    issues.push({ path: "stores", message: "expected a list of stores, such as [redisStore(…)]" });
  if (issues.length > 0) throw configError("The tool registry", issues);
  return { stores, recordTtlMs, refreshIntervalMs, logger, clock, now, random };
}

function isStore(value: unknown): boolean {
  return typeof value === "object" && value !== null && typeof Reflect.get(value, "get") === "function";
}
