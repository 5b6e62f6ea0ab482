import type * as undici from "undici";
import UndiciClient from "undici/lib/dispatcher/client.js";
import UndiciPool from "undici/lib/dispatcher/pool.js";
import undiciConnect from "undici/lib/core/connect.js";
import undiciErrors from "undici/lib/core/errors.js";

/*
 * The part of undici that every connection needs. The index of undici also loads fetch, WebSocket, caches,
 * mocks and the fetch of Node, and takes three times as long. It imports the same files, so that classes
 * are shared with it.
 */
export const Client: typeof undici.Client = UndiciClient;
export const Pool: typeof undici.Pool = UndiciPool;
export const buildConnector: typeof undici.buildConnector = undiciConnect;
export const errors: typeof undici.errors = undiciErrors;
