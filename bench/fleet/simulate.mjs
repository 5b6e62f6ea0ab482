/** A fleet on one Redis, simulated with discrete events. Times are in milliseconds; the same seed gives the same result. */

/** A binary heap of events by time. */
class EventQueue {
  #heap = [];

  push(at, run) {
    const heap = this.#heap;
    let index = heap.push({ at, run }) - 1;
    for (let parent = (index - 1) >> 1; index > 0 && heap[parent].at > at; parent = (index - 1) >> 1) {
      [heap[parent], heap[index]] = [heap[index], heap[parent]];
      index = parent;
    }
  }

  pop() {
    const heap = this.#heap;
    const [first] = heap;
    const last = heap.pop();
    if (heap.length === 0) return first;
    heap[0] = last;
    for (let index = 0; ;) {
      let smallest = index;
      for (const child of [2 * index + 1, 2 * index + 2])
        if (child < heap.length && heap[child].at < heap[smallest].at) smallest = child;
      if (smallest === index) return first;
      [heap[smallest], heap[index]] = [heap[index], heap[smallest]];
      index = smallest;
    }
  }
}

/** Mulberry32. */
function createRandom(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let value = Math.imul(state ^ (state >>> 15), 1 | state);
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value;
    return ((value ^ (value >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/**
 * Simulates workers that read the tools of all servers every `readEveryMs`. A stale list is listed by the worker that gets
 * the lease; the others read it from the store when it has changed. Servers do not affect each other, so a sample of them
 * is simulated and scaled.
 *
 * @param {{ workers: number, servers: number, staleAfterMs: number, readEveryMs: number, listMs: number, redisMs: number,
 *   windowMs: number, sample?: number, seed?: number }} options
 * @returns requests for lists per server and minute, commands of the store per second, and messages of the change feed
 */
export function simulate(options) {
  const { workers, servers, staleAfterMs, readEveryMs, listMs, redisMs, windowMs } = options;
  const { sample = Math.min(servers, 20), seed = 1 } = options;
  const random = createRandom(seed);
  const queue = new EventQueue();
  const total = { lists: 0, commands: 0, messages: 0 };
  // A cycle before the window, in which the phases of the servers drift apart.
  const warmUpMs = 3 * (staleAfterMs + readEveryMs);
  let now = 0;
  const count = (name, value = 1) => {
    if (now >= warmUpMs) total[name] += value;
  };
  const phases = Array.from({ length: workers }, () => random() * readEveryMs);

  for (let index = 0; index < sample; index += 1) {
    const server = { listedAt: 0, isLeased: false, waiting: [] };
    const views = phases.map(() => ({ listedAt: 0, isUnread: false, isBusy: false }));
    const readStore = (view, then) => {
      count("commands");
      view.isUnread = false;
      queue.push(now + redisMs, () => {
        view.listedAt = Math.max(view.listedAt, server.listedAt);
        then();
      });
    };
    const list = (view, requestedAt) => {
      count("lists");
      queue.push(now + listMs, () => {
        // The list is written and published, and the lease is deleted.
        count("commands", 3);
        count("messages", workers);
        view.listedAt = requestedAt;
        view.isBusy = false;
        queue.push(now + redisMs, () => {
          server.listedAt = Math.max(server.listedAt, requestedAt);
          server.isLeased = false;
          for (const other of views) if (other !== view) other.isUnread = true;
          for (const wake of server.waiting.splice(0)) wake();
        });
      });
    };
    const refresh = (view) => {
      view.isBusy = true;
      count("commands");
      queue.push(now + redisMs, () => {
        if (server.isLeased)
          return void server.waiting.push(() => readStore(view, () => (view.isBusy = false)));
        server.isLeased = true;
        readStore(view, () => {
          if (now - view.listedAt >= staleAfterMs) return list(view, now);
          server.isLeased = false;
          view.isBusy = false;
          count("commands");
        });
      });
    };
    const use = (view) => {
      if (now - view.listedAt >= staleAfterMs && !view.isBusy) refresh(view);
    };
    views.forEach((view, worker) => {
      const read = () => {
        queue.push(now + readEveryMs, read);
        if (view.isUnread && !view.isBusy) readStore(view, () => use(view));
        else use(view);
      };
      queue.push(phases[worker], read);
    });
  }

  for (let event = queue.pop(); event.at < warmUpMs + windowMs; event = queue.pop()) {
    now = event.at;
    event.run();
  }
  const seconds = windowMs / 1_000;
  const scale = servers / sample;
  return {
    listsPerServerAndMinute: (total.lists / sample / seconds) * 60,
    commandsPerSecond: (total.commands * scale) / seconds,
    messagesPerSecond: (total.messages * scale) / seconds,
  };
}

/** How often a worker that waits for the list of another one tries to take the turn itself. */
const TURN_POLL_MS = 500;

/**
 * Simulates workers that start in the same moment without a stored list, and need `startMs` for all that they do. The one
 * that gets the lease lists the server; the others wait for its list. Servers do not affect each other: one is simulated.
 *
 * @param {{ workers: number, startMs: number, listMs: number, redisMs: number, seed?: number }} options
 * @returns requests for lists and commands of the store per server
 */
export function simulateStart({ workers, startMs, listMs, redisMs, seed = 1 }) {
  const random = createRandom(seed);
  // Busy workers get to a server at any time of their start.
  const arrivals = Array.from({ length: workers }, () => random() * startMs).toSorted((a, b) => a - b);
  const [first] = arrivals;
  // It reads the store, takes the lease, reads again, and lists; then it writes and publishes the list, and ends its turn.
  const listedAt = first + 3 * redisMs + listMs + redisMs;
  let commands = 6;
  for (const arrival of arrivals.slice(1)) {
    if (arrival >= listedAt) commands += 1;
    // Reads the store, asks for the lease, and reads the list when it was published; again after each interval.
    else commands += 3 + 2 * Math.floor((listedAt - arrival) / TURN_POLL_MS);
  }
  return { startListsPerServer: 1, startCommandsPerServer: commands };
}
