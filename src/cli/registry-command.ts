import { resolve } from "node:path";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { isLambdaArn, isPublished, publishServer, withdrawServer } from "../manager/published-server.js";
import { dynamoStore } from "../stores/drivers/dynamo-store.js";
import { fileStore } from "../stores/drivers/file-store.js";
import { redisStore } from "../stores/drivers/redis-store.js";
import { isRedisAddress } from "../stores/drivers/redis-target.js";
import type { KeyValueStore } from "../stores/key-value-store.js";
import type { Command, CommandContext, Outcome } from "./command-context.js";
import { UsageError } from "./exit-codes.js";
import { renderStatus, type Status } from "./terminal.js";

/** Adds a server to a registry, for programs that use `registryServers`. */
export const publishCommand: Command = async (context) => {
  const [name, address, ...extra] = context.line.positionals;
  if (name === undefined || address === undefined || extra.length > 0)
    throw new UsageError("publish needs a name and an address.", USAGE);
  const server = isLambdaArn(address) ? { name, functionName: address } : { name, url: address };
  return changeRegistry(context, async (store) => {
    await publishServer(store, server);
    return ["ok", `${name} is published.`];
  });
};

/** Removes a server from a registry. */
export const withdrawCommand: Command = async (context) => {
  const [name, ...extra] = context.line.positionals;
  if (name === undefined || extra.length > 0)
    throw new UsageError("withdraw needs the name of one server.", USAGE);
  return changeRegistry(context, async (store) => {
    // If the store cannot be read, the error of `withdrawServer` says so.
    const wasPublished = await isPublished(store, name).catch(() => true);
    await withdrawServer(store, name);
    return wasPublished
      ? ["ok", `${name} is withdrawn.`]
      : ["note", `${name} was not published in this store.`];
  });
};

const USAGE = "Usage: publish <name> <url> --store redis://…, or withdraw <name> --store redis://….";

async function changeRegistry(
  context: CommandContext,
  change: (store: KeyValueStore) => Promise<readonly [status: Status, text: string]>,
): Promise<Outcome> {
  let status: Status;
  let text: string;
  try {
    await using store = openStore(context);
    [status, text] = await change(store);
  } catch (error) {
    if (!(error instanceof McpRuntimeError)) throw error;
    const isUsage = error.kind === "invalid-config";
    const hint = isUsage ? USAGE : "Check the store and its credentials.";
    throw new UsageError(error.message, hint, isUsage ? "usage" : "failed");
  }
  return {
    exit: "ok",
    json: { server: context.line.positionals[0] },
    render: ({ colors }) => [`${renderStatus(status, colors)} ${text}`],
  };
}

function openStore({ line, terminal, logger }: CommandContext): KeyValueStore {
  const location = line.value("store");
  if (location === undefined) throw new UsageError(`${line.command} needs a store.`, USAGE);
  if (isRedisAddress(location)) return redisStore(location, { logger });
  const table = /^dynamodb:(?:\/\/)?(.+)$/.exec(location)?.[1];
  if (table !== undefined) return dynamoStore(table, { logger });
  if (/^[\w+-]+:\/\//.test(location))
    throw new UsageError(
      "The store has an unknown protocol.",
      "Use redis://…, rediss://…, redis-cluster://…, dynamodb:<table> or a folder.",
    );
  return fileStore(resolve(terminal.cwd, location), { logger });
}
