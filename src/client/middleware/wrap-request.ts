import type { RequestWrapper } from "../request-events.js";

/**
 * Runs something within all that listeners put around it, the last one outermost. Theirs is somebody's
 * code: whether it throws, runs it never or twice, it is run once, and its outcome is its own.
 */
export function surround<T>(
  surroundings: readonly RequestWrapper[],
  run: () => Promise<T>,
  onError: (error: unknown) => void,
): Promise<T> {
  return surroundings.reduce<() => Promise<T>>(
    (inner, surrounding) => () => {
      let running: Promise<T> | undefined;
      const once = () => (running ??= inner());
      try {
        surrounding(() => void once());
      } catch (error) {
        onError(error);
      }
      return once();
    },
    run,
  )();
}
