#!/usr/bin/env node
import { constants } from "node:os";
import { toExitCode } from "./exit-codes.js";
import { runCli } from "./run-cli.js";

const interrupted = new AbortController();

// The first signal closes all connections; a second one exits at once.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.on(signal, () => {
    const code = 128 + constants.signals[signal];
    if (interrupted.signal.aborted) process.exit(code);
    interrupted.abort(new Error(`Terminated by ${signal}.`));
  });
}

for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", ({ code, message }: NodeJS.ErrnoException) => {
    // The reader has closed the pipe, for example `… | head`: the command still closes its connections and sets its code.
    if (code === "EPIPE") return;
    if (stream === process.stdout) process.stderr.write(`✗ The output cannot be written: ${message}.\n`);
    process.exit(toExitCode("failed"));
  });
}

const { stdin, stdout, stderr } = process;
process.exitCode = await runCli(
  process.argv.slice(2),
  { stdin, stdout, stderr, env: process.env, cwd: process.cwd() },
  interrupted.signal,
);
