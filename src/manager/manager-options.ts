import type { McpClientOptions } from "../client/client-options.js";
import { type Clock, systemClock } from "../async/clock.js";
import { definitionError } from "../errors/config-error.js";
import { describeFound } from "../json/describe-value.js";
import type { DefinitionIssue } from "../errors/mcp-runtime-error.js";
import { createConsoleLogger, type Logger } from "../telemetry/logger.js";
import { issuesOfLogger } from "../client/validate-logger.js";
import {
  type CatalogueOptions,
  type CatalogueSettings,
  issuesOfCatalogue,
  resolveCatalogueOptions,
} from "./catalog-options.js";

/** Every default of the manager, in one place. The README's table is printed from here. */
export const MANAGER_DEFAULTS = {
  startupMs: 250,
  waitForUncached: true,
  concurrency: 16,
  strict: false,
  dropFailed: true,
  closeMs: 10_000,
} as const;

/** How servers are connected and let go. */
export interface LifeOptions {
  /** How many servers are connected at the same time; 1 is one after the other. */
  readonly concurrency?: number;
  /** How long closing may take at most. */
  readonly closeMs?: number;
}

export interface McpServerManagerOptions extends LifeOptions, CatalogueOptions {
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
  readonly closeMs: number;
  readonly isStrict: boolean;
  readonly dropsFailed: boolean;
  readonly isListed: (server: string) => boolean;
  readonly clock: Clock;
  readonly client: McpClientOptions;
  readonly catalogue: CatalogueSettings;
  readonly warn: (message: string) => void;
}

const KEYS = [
  "concurrency",
  "closeMs",
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
  if (issues.length > 0) throw definitionError("The set of options", issues);
  const { logger = createConsoleLogger(), clock = systemClock } = options;
  const warn = (message: string) => logger.warn(message);
  return {
    concurrency: options.concurrency ?? MANAGER_DEFAULTS.concurrency,
    closeMs: options.closeMs ?? MANAGER_DEFAULTS.closeMs,
    isStrict: options.strict ?? MANAGER_DEFAULTS.strict,
    dropsFailed: options.dropFailed ?? MANAGER_DEFAULTS.dropFailed,
    isListed: options.listTools ?? (() => true),
    clock,
    client: { logger, clock },
    catalogue: resolveCatalogueOptions(options, warn),
    warn,
  };
}

function issuesOf(options: unknown): DefinitionIssue[] {
  if (typeof options !== "object" || options === null)
    return [{ path: "", message: `expected an object, found ${describeFound(options)}` }];
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
      message: `expected true or false, found ${describeFound(flag)}`,
    })),
    ...(listTools === undefined || typeof listTools === "function"
      ? []
      : [{ path: "listTools", message: `expected a function, found ${describeFound(listTools)}` }]),
    ...issuesOfLogger(logger),
    ...issuesOfLife(options),
    ...issuesOfCatalogue(options),
  ];
}

/** What is wrong with the numbers of a life. */
export function issuesOfLife({ concurrency, closeMs }: LifeOptions): DefinitionIssue[] {
  const isCount = concurrency === undefined || (Number.isInteger(concurrency) && concurrency > 0);
  return [
    ...(isCount
      ? []
      : [
          {
            path: "concurrency",
            message: `expected a number of 1 or more, found ${describeFound(concurrency)}`,
          },
        ]),
    ...issuesOfMs({ closeMs }),
  ];
}

export function issuesOfMs(times: Readonly<Record<string, unknown>>): DefinitionIssue[] {
  return Object.entries(times)
    .filter(([, ms]) => ms !== undefined && !(typeof ms === "number" && ms >= 0))
    .map(([path, ms]) => ({ path, message: `expected milliseconds, found ${describeFound(ms)}` }));
}
