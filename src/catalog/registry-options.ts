import { type Clock, systemClock } from "../async/clock.js";
import { definitionError } from "../errors/config-error.js";
import { describeFound } from "../json/describe-value.js";
import type { KeyValueStore } from "../stores/key-value-store.js";
import { createConsoleLogger, type Logger } from "../telemetry/logger.js";

export interface ToolRegistryOptions {
  /** Places that processes share, the nearest first: Redis, then DynamoDB. They are yours: you close them. */
  readonly stores?: readonly KeyValueStore[];
  /** How long what was read from them is believed. */
  readonly believeMs?: number;
  /** How often servers are listed anew, by one process for all: up to a fifth earlier, so that not all try at once. */
  readonly refreshMs?: number;
  readonly logger?: Logger;
  readonly clock?: Clock;
  /** Milliseconds since 1970, the same for all who share the stores. */
  readonly now?: () => number;
  /** From 0 to 1; the dice. */
  readonly random?: () => number;
}

/** Every default of the registry, in one place. The README's table is printed from here. */
export const REGISTRY_DEFAULTS = { believeMs: 60_000, refreshMs: 300_000 } as const;

export type RegistrySettings = Readonly<Required<ToolRegistryOptions>>;

export function resolveRegistryOptions(options: ToolRegistryOptions): RegistrySettings {
  const { stores = [], logger = createConsoleLogger(), clock = systemClock, now = Date.now } = options;
  const { random = Math.random } = options;
  const { believeMs = REGISTRY_DEFAULTS.believeMs, refreshMs = REGISTRY_DEFAULTS.refreshMs } = options;
  const issues = Object.entries({ believeMs, refreshMs })
    .filter(([, ms]) => !(typeof ms === "number" && ms > 0))
    .map(([path, ms]) => ({
      path,
      message: `expected a number of milliseconds above 0, found ${describeFound(ms)}`,
    }));
  if (!Array.isArray(stores) || !stores.every(isStore))
    issues.push({ path: "stores", message: "expected a list of stores, such as [redisStore(…)]" });
  if (issues.length > 0) throw definitionError("The tool registry", issues);
  return { stores, believeMs, refreshMs, logger, clock, now, random };
}

function isStore(value: unknown): boolean {
  return typeof value === "object" && value !== null && typeof Reflect.get(value, "get") === "function";
}
