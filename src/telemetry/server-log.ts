/**
 * What a warning is about, where a program would decide by it.
 * - `stdout-noise`: a program prints on stdout what is no message
 */
export type WarningCode = "stdout-noise";

/** For what a server says beside its answers. */
export interface ServerLog {
  info(message: string): void;
  warn(message: string, code?: WarningCode): void;
}
