// Makes one call, in a process of its own: what it loads is looked at by whoever started it.
import { McpClient, type ServerDefinition } from "../../src/index.js";

const [, , url = "", protocol] = process.argv;
const definition = { url, protocol } as Extract<ServerDefinition, { url: unknown }>;
const client = new McpClient({ name: "test", ...definition });
console.log((await client.callTool({ name: "echo", args: { text: "hi" } })).text());
await client.close();
