import { openServer } from "../servers/open-server.mjs";
import { PeerProcess, runInFreshProcess } from "./peer-process.mjs";
import { runRounds } from "./run-rounds.mjs";

/** The context of a workload: the peers' processes, servers that are closed after it, and the size of the run. */
export class Bench {
  #processes = new Map();
  #servers = [];

  /** @param {{ peers: readonly string[], size: typeof import("./size.mjs").FULL_SIZE }} options */
  constructor({ peers, size }) {
    this.peers = peers;
    this.size = size;
  }

  async openServer(kind, options) {
    const server = await openServer(kind, options);
    this.#servers.push(server);
    return server.servers;
  }

  /** Runs rounds in the long-lived process of each peer, after one block each to warm up the JIT compiler. */
  async runBlocks(task, params, { rounds = this.size.rounds, warmUp = {}, peers = this.peers } = {}) {
    const warm = await runRounds(peers, 1, (peer) => this.#run(peer, task, { ...params, ...warmUp }));
    const working = peers.filter((peer) => warm.failures[peer] === undefined);
    const { blocks, failures } = await runRounds(working, rounds, (peer) => this.#run(peer, task, params));
    return { blocks, failures: { ...warm.failures, ...failures } };
  }

  /** Runs rounds in which every block has a new process. */
  runInFreshProcesses(task, params, { rounds = this.size.rounds, peers = this.peers, timeoutMs } = {}) {
    return runRounds(peers, rounds, (peer) => runInFreshProcess(peer, task, params, timeoutMs));
  }

  /** Closes what the workload opened: connections first, then servers. */
  async endWorkload() {
    const running = [...this.#processes.values()];
    await Promise.all(
      running.map((process) => process.run("close-connections", {}, 10_000).catch(() => undefined)),
    );
    await Promise.all(this.#servers.splice(0).map((server) => server.close()));
  }

  async close() {
    await this.endWorkload();
    await Promise.all([...this.#processes.values()].map((process) => process.close()));
  }

  async #run(peer, task, params) {
    let process = this.#processes.get(peer);
    if (process === undefined || process.hasExited) {
      process = new PeerProcess(peer);
      this.#processes.set(peer, process);
    }
    return process.run(task, params);
  }
}
