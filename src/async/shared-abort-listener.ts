interface FanOut {
  readonly actions: Set<() => void>;
  readonly onAbort: () => void;
}

/** Weak, so it knows a signal for no longer than somebody else does. */
const fanOuts = new WeakMap<AbortSignal, FanOut>();

/**
 * Runs `action` when the signal aborts. The function that comes back forgets it.
 *
 * However many calls share a signal, as the tools of one agent run do, it gets a single listener:
 * from the eleventh on Node would print a warning.
 */
export function onAbort(signal: AbortSignal, action: () => void): () => void {
  const fanOut = fanOuts.get(signal) ?? attach(signal);
  fanOut.actions.add(action);
  return () => {
    if (fanOut.actions.delete(action) && fanOut.actions.size === 0) detach(signal, fanOut);
  };
}

function attach(signal: AbortSignal): FanOut {
  const actions = new Set<() => void>();
  const fanOut: FanOut = {
    actions,
    onAbort: () => {
      detach(signal, fanOut);
      for (const action of actions) action();
    },
  };
  fanOuts.set(signal, fanOut);
  signal.addEventListener("abort", fanOut.onAbort);
  return fanOut;
}

function detach(signal: AbortSignal, fanOut: FanOut): void {
  signal.removeEventListener("abort", fanOut.onAbort);
  if (fanOuts.get(signal) === fanOut) fanOuts.delete(signal);
}
