// A test server in a process of its own: its memory is not the client's. Prints its address, ends with its parent.
import { startMcpTestServer } from "../../src/testing/index.js";

const answers = process.argv[2] === "json" ? "json" : "sse";
const server = await startMcpTestServer({ answers });
process.stdout.write(`${server.url}\n`);
setInterval(() => {
  server.requests.length = 0;
  server.executions.length = 0;
}, 100);
process.stdin.resume().on("end", () => process.exit(0));
