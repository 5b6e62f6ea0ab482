import type { McpClientOptions } from "../client/client-options.js";
import { type Clock, systemClock } from "../async/clock.js";
import { configError } from "../errors/config-error.js";
import { describeValue } from "../json/describe-value.js";
import type { ConfigIssue } from "../errors/mcp-runtime-error.js";
import { createConsoleLogger, type Logger } from "../telemetry/logger.js";
import { issuesOfLogger } from "../client/validate-logger.js";
import {
  type CatalogOptions,
  type CatalogSettings,
  issuesOfCatalogue,
  resolveCatalogueOptions,
} from "./catalog-options.js";

/** Every default of the manager, in one place. The README's table is printed from here. */
export const MANAGER_DEFAULTS = {
  startupWaitMs: 250,
  waitForUncached: true,
  concurrency: 16,
  strict: false,
  dropFailed: true,
  closeTimeoutMs: 10_000,
} as const;

/** How servers are connected and let go. */
export interface LifecycleOptions {
  /** How many servers are connected at the same time; 1 is one after the other. */
  readonly concurrency?: number;
  /** How long closing may take at most. */
  readonly closeTimeoutMs?: number;
}

export interface McpServerManagerOptions extends LifecycleOptions, CatalogOptions {
  /** A server that fails undoes the whole attempt, and throws. */
  readonly strict?: boolean;
  /** Servers that failed are not among the active ones. */
  readonly dropFailed?: boolean;
  /** Whether a server is asked for its tools; all are, when left out. */
  readonly listTools?: (server: string) => boolean;
  readonly logger?: Logger;
  readonly clock?: Clock;
}

export interface ManagerSettings {
  readonly concurrency: number;
  readonly closeTimeoutMs: number;
  readonly isStrict: boolean;
  readonly dropsFailed: boolean;
  readonly isListed: (server: string) => boolean;
  readonly clock: Clock;
  readonly client: McpClientOptions;
  readonly catalogue: CatalogSettings;
  readonly warn: (message: string) => void;
}

const KEYS = [
  "concurrency",
  "closeTimeoutMs",
  "strict",
  "dropFailed",
  "listTools",
  "cache",
  "pin",
  "logger",
  "clock",
];

export function resolveManagerOptions(options: McpServerManagerOptions): ManagerSettings {
  const issues = issuesOf(options);
  if (issues.length > 0) throw configError("The set of options", issues);
  const { logger = createConsoleLogger(), clock = systemClock } = options;
  const warn = (message: string) => logger.warn(message);
  return {
    concurrency: options.concurrency ?? MANAGER_DEFAULTS.concurrency,
    closeTimeoutMs: options.closeTimeoutMs ?? MANAGER_DEFAULTS.closeTimeoutMs,
    isStrict: options.strict ?? MANAGER_DEFAULTS.strict,
    dropsFailed: options.dropFailed ?? MANAGER_DEFAULTS.dropFailed,
    isListed: options.listTools ?? (() => true),
    clock,
    client: { logger, clock },
    catalogue: resolveCatalogueOptions(options, warn),
    warn,
  };
}

function issuesOf(options: unknown): ConfigIssue[] {
  if (typeof options !== "object" || options === null)
    return [{ path: "", message: `expected an object, found ${describeValue(options)}` }];
  const { strict, dropFailed, listTools, logger } = options as McpServerManagerOptions;
  const flags = Object.entries({ strict, dropFailed }).filter(
    ([, flag]) => flag !== undefined && typeof flag !== "boolean",
  );
  return [
    ...Object.keys(options)
      .filter((key) => !KEYS.includes(key))
      .map((path) => ({ path, message: `is no option; options are ${KEYS.join(", ")}` })),
    ...flags.map(([path, flag]) => ({
      path,
      message: `expected true or false, found ${describeValue(flag)}`,
    })),
    ...(listTools === undefined || typeof listTools === "function"
      ? []
      : [{ path: "listTools", message: `expected a function, found ${describeValue(listTools)}` }]),
    ...issuesOfLogger(logger),
    ...issuesOfLife(options),
    ...issuesOfCatalogue(options),
  ];
}

/** What is wrong with the numbers of a life. */
export function issuesOfLife({ concurrency, closeTimeoutMs }: LifecycleOptions): ConfigIssue[] {
  const isCount = concurrency === undefined || (Number.isInteger(concurrency) && concurrency > 0);
  return [
    ...(isCount
      ? []
      : [
          {
            path: "concurrency",
            message: `expected a number of 1 or more, found ${describeValue(concurrency)}`,
          },
        ]),
    ...issuesOfMs({ closeTimeoutMs }),
  ];
}

export function issuesOfMs(times: Readonly<Record<string, unknown>>): ConfigIssue[] {
  return Object.entries(times)
    .filter(([, ms]) => ms !== undefined && !(typeof ms === "number" && ms >= 0))
    .map(([path, ms]) => ({ path, message: `expected milliseconds, found ${describeValue(ms)}` }));
}
