import type { Logger } from "../../telemetry/logger.js";

/** For what is told in another way. */
export const SILENT_LOGGER: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};
