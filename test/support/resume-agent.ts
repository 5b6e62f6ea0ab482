// Goes on with an agent that another process has paused, and prints what its tools gave.
import { createMcpTools } from "../../src/index.js";
import { answer, doors, scripted, thread, toolMessages } from "./agents.js";
import { FileSaver } from "./file-saver.js";

const [, , door = "", url = "", path = "", decisions = "[]"] = process.argv;
const mcp = await createMcpTools({ bank: { url, tools: { pay: { requireApproval: true } } } });
const agent = doors[door]?.({ model: scripted(), mcp, checkpointer: new FileSaver(path) });
const result = await agent?.invoke(answer(...(JSON.parse(decisions) as unknown[])), thread("1"));
console.log(JSON.stringify(result === undefined ? [] : toolMessages(result).map(({ text }) => text)));
await mcp.close();
