// The process of one peer: runs tasks one after the other until its parent lets go.
import { HeldConnections } from "./held-connections.mjs";

const peer = process.argv[2];
const held = new HeldConnections(peer);

process.on("message", async ({ task, params }) => {
  try {
    const { run } = await import(`../tasks/${task}.mjs`);
    process.send({ value: await run({ ...params, peer, held }) });
  } catch (error) {
    process.send({ error: firstLine(error) });
  }
});
process.on("disconnect", () => process.exit(0));
// Some peers leave rejections behind when a session is lost; the task's own outcome is what counts.
process.on("unhandledRejection", () => undefined);

function firstLine(error) {
  const text = String(error?.message ?? error);
  return text.split("\n", 1)[0].slice(0, 160);
}
