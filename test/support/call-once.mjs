// Makes one call with what was built, in a process of its own: what it loads is looked at by whoever
// started it.
import { McpClient } from "../../dist/index.js";

const [, , url, protocol] = process.argv;
const client = new McpClient({ name: "test", url, protocol });
console.log((await client.callTool({ name: "echo", args: { text: "hi" } })).text());
await client.close();
