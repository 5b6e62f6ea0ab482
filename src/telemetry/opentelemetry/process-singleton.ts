import { subscribeSafely, createChannels } from "../typed-emitter.js";

interface SharedTask<Options> {
  /** The diagnostics channel on which a running task is discovered. */
  readonly name: string;
  /** Returns the current provider; there is one task per provider. */
  readonly getProvider: () => object;
  readonly options: Options;
  /** Starts the task. Returns the functions that stop it. */
  readonly start: () => readonly (() => void)[];
  /** Throws if the running task was started with incompatible options. */
  readonly assertCompatible: (runningOptions: Options) => void;
}

interface DiscoveryMessage<Options> {
  readonly provider: object;
  running?: { readonly options: Options; readonly join: () => () => void };
}

/**
 * Runs a task once per provider and process, until every caller has stopped it. A running task is discovered over
 * a diagnostics channel, so that it is also found in another copy of this package.
 */
export function joinOrStart<Options>(task: SharedTask<Options>): () => void {
  const message: DiscoveryMessage<Options> = { provider: task.getProvider() };
  createChannels<Record<string, unknown>>([task.name])[task.name]?.publish(message);
  const { running } = message;
  if (running === undefined) return startShared(task);
  task.assertCompatible(running.options);
  return running.join();
}

function startShared<Options>({ name, getProvider, options, start }: SharedTask<Options>): () => void {
  const users = new Set<object>();
  const stopFunctions = start();
  const join = () => {
    const user = {};
    users.add(user);
    return () => {
      if (!users.delete(user) || users.size > 0) return;
      unsubscribe();
      for (const stop of stopFunctions) stop();
    };
  };
  const unsubscribe = subscribeSafely(name, (message) => {
    const discovery = message as DiscoveryMessage<Options>;
    if (discovery.provider === getProvider()) discovery.running = { options, join };
  });
  return join();
}
