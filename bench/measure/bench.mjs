import { openServer } from "../servers/open-server.mjs";
import { PeerProcess, runFresh } from "./peer-process.mjs";
import { rotate } from "./rotate.mjs";

/** What a workload works with: the peers' processes, servers that are closed after it, and the size of the run. */
export class Bench {
  #processes = new Map();
  #servers = [];

  /** @param {{ peers: readonly string[], size: typeof import("./size.mjs").FULL }} options */
  constructor({ peers, size }) {
    this.peers = peers;
    this.size = size;
  }

  async openServer(kind, options) {
    const server = await openServer(kind, options);
    this.#servers.push(server);
    return server.servers;
  }

  /** Rotating blocks in the processes that the peers keep. The first block of each is for the compiler. */
  async blocks(task, params, { rounds = this.size.rounds, warmUp = {}, peers = this.peers } = {}) {
    const warm = await rotate(peers, 1, (peer) => this.#run(peer, task, { ...params, ...warmUp }));
    const fit = peers.filter((peer) => warm.failures[peer] === undefined);
    const { blocks, failures } = await rotate(fit, rounds, (peer) => this.#run(peer, task, params));
    return { blocks, failures: { ...warm.failures, ...failures } };
  }

  /** Rotating blocks, each in a process that has done nothing before. */
  fresh(task, params, { rounds = this.size.rounds, peers = this.peers, maxMs } = {}) {
    return rotate(peers, rounds, (peer) => runFresh(peer, task, params, maxMs));
  }

  /** Closes what the workload has opened, connections before their servers. */
  async endWorkload() {
    const running = [...this.#processes.values()];
    await Promise.all(running.map((process) => process.run("release", {}, 10_000).catch(() => undefined)));
    await Promise.all(this.#servers.splice(0).map((server) => server.close()));
  }

  async close() {
    await this.endWorkload();
    await Promise.all([...this.#processes.values()].map((process) => process.close()));
  }

  async #run(peer, task, params) {
    let process = this.#processes.get(peer);
    if (process === undefined || process.hasEnded) {
      process = new PeerProcess(peer);
      this.#processes.set(peer, process);
    }
    return process.run(task, params);
  }
}
