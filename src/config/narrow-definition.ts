import { isPlainObject, type JsonObject, omitUndefined } from "../json/json.js";
import { SERVER_DEFAULTS, STDIO_CONNECT_MS } from "./server-config.js";

/** Whether a definition that others have written may not set this option. */
export type RestrictionCheck = (key: string, value: unknown) => boolean;

/** Copies an object without the options that are restricted, and adds their paths to `removed`. */
export function removeRestricted(
  value: unknown,
  isRestricted: RestrictionCheck,
  { path, removed }: { readonly path: readonly PropertyKey[]; readonly removed: PropertyKey[][] },
): unknown {
  if (!isPlainObject(value)) return value;
  const kept = Object.entries(value).filter(([key, item]) => {
    const isKept = !isRestricted(key, item);
    if (!isKept) removed.push([...path, key]);
    return isKept;
  });
  return Object.fromEntries(kept);
}

/**
 * Removes what is above the defaults from the limits, timeouts, retries and delays of a definition that was not written by
 * the operator, such as that of a project file or a registry: it can only narrow them. Adds the paths to `removed`.
 */
export function removeRaisedLimits<Definition extends object>(
  definition: Definition,
  removed: PropertyKey[][],
): Definition {
  const { limits, timeouts, retry, session, command } = definition as JsonObject;
  const connectMs = command === undefined ? SERVER_DEFAULTS.timeouts.connectMs : STDIO_CONNECT_MS;
  const isRaisedTimeout = exceeds({ ...SERVER_DEFAULTS.timeouts, connectMs });
  const narrow = (key: string, value: unknown, isRestricted: RestrictionCheck) =>
    removeRestricted(value, isRestricted, { path: [key], removed });
  const narrowed = omitUndefined({
    limits: narrow("limits", limits, isRaisedLimit),
    timeouts: narrow("timeouts", timeouts, (key, value) => isUnlimited(value) || isRaisedTimeout(key, value)),
    retry: narrow("retry", retry, exceeds(SERVER_DEFAULTS.retry)),
    session: narrow("session", session, exceeds(SERVER_DEFAULTS.session)),
  });
  return { ...definition, ...narrowed };
}

/** Whether a timeout is longer than that of a request by default. */
export function isLongerRequest(value: unknown, unitMs = 1): boolean {
  const limitMs = SERVER_DEFAULTS.timeouts.requestMs;
  return isUnlimited(value) || (typeof value === "number" && value * unitMs > limitMs);
}

/** 0 is no timeout. */
function isUnlimited(value: unknown): boolean {
  return value === 0;
}

/** Numbers above the defaults. Keys without a default are not limited. */
function exceeds(defaults: object): RestrictionCheck {
  const limits = new Map<string, unknown>(Object.entries(defaults));
  return (key, value) => {
    const limit = limits.get(key);
    return typeof value === "number" && typeof limit === "number" && value > limit;
  };
}

function isRaisedLimit(key: string, value: unknown): boolean {
  // The limit of the toolset is not known here.
  return key === "contentChars" || exceeds(SERVER_DEFAULTS.limits)(key, value);
}
