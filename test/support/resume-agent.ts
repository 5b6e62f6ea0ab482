// Goes on with an agent that another process has paused, and prints what its tools gave.
import { Command } from "@langchain/langgraph";
import { createMcpTools } from "../../src/index.js";
import { doors, scripted, thread, toolMessages } from "./agents.js";
import { FileSaver } from "./file-saver.js";
import type { PausedAgent } from "./resume-elsewhere.js";

const { door, servers, path, resume } = JSON.parse(process.argv[2] ?? "{}") as PausedAgent;
const mcp = await createMcpTools(servers);
const agent = doors[door]?.({ model: scripted(), mcp, checkpointer: new FileSaver(path) });
const result = await agent?.invoke(new Command({ resume }), thread("1"));
console.log(JSON.stringify(result === undefined ? [] : toolMessages(result).map(({ text }) => text)));
await mcp.close();
