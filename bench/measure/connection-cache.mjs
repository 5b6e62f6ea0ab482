import { loadPeer } from "../peers/index.mjs";

/** Keeps the connections of a peer open from block to block, as an application does. */
export class ConnectionCache {
  #peer;
  #opened = new Map();

  constructor(peer) {
    this.#peer = peer;
  }

  async get(servers) {
    const key = JSON.stringify(servers);
    let opened = this.#opened.get(key);
    if (opened === undefined) {
      const { open } = await loadPeer(this.#peer);
      opened = await open(servers);
      this.#opened.set(key, opened);
    }
    return opened;
  }

  async closeAll() {
    const all = [...this.#opened.values()];
    this.#opened.clear();
    await Promise.allSettled(all.map((opened) => opened.close()));
  }
}
