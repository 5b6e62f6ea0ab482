// tsx test/soak/failing-servers.ts [rounds]: one toolset over fifty servers in ten processes, while some
// hang, some die and one changes. Prints a report; fails on any violation.
import { runFailingServers } from "../fixtures/failing-servers.js";

const rounds = Number(process.argv[2] ?? 40);
if (!(rounds > 0))
  throw new Error("Usage: tsx test/soak/failing-servers.ts [rounds]; rounds must be a positive number.");

const { servers, startedAfterMs, toolsAtStart, calls, outcomes, sessionsLeft, violations } =
  await runFailingServers({
    processes: 10,
    serversEach: 5,
    rounds,
  });
console.log(
  `${servers} servers  started after ${startedAfterMs.toFixed(0)} ms with ${toolsAtStart} tools  ${calls} calls`,
);
console.log(`calls to servers that hang, die or change: ${JSON.stringify(outcomes)}`);
console.log(`sockets left 0, sessions left ${sessionsLeft}`);
if (violations.length > 0) throw new Error(`${violations.length} violations\n${violations.join("\n")}`);
