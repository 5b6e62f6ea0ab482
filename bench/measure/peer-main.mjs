// The process of one peer: runs tasks one after the other until its parent disconnects.
import { ConnectionCache } from "./connection-cache.mjs";

const peer = process.argv[2];
const connections = new ConnectionCache(peer);

process.on("message", async ({ task, params }) => {
  try {
    const { run } = await import(`../tasks/${task}.mjs`);
    process.send({ value: await run({ ...params, peer, connections }) });
  } catch (error) {
    process.send({ error: toFirstLine(error) });
  }
});
process.on("disconnect", () => process.exit(0));
// Some peers leave unhandled rejections when a session is lost; only the result of the task counts.
process.on("unhandledRejection", () => undefined);

function toFirstLine(error) {
  const text = String(error?.message ?? error);
  return text.split("\n", 1)[0].slice(0, 160);
}
