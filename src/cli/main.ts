#!/usr/bin/env node
import { constants } from "node:os";
import { exitCodeOf } from "./exit-codes.js";
import { runCli } from "./run-cli.js";

const interrupted = new AbortController();

// The first time everything is closed in good order; who asks twice does not want to wait.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.on(signal, () => {
    const code = 128 + constants.signals[signal];
    if (interrupted.signal.aborted) process.exit(code);
    interrupted.abort(new Error(`Ended by ${signal}.`));
  });
}

for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", ({ code, message }: NodeJS.ErrnoException) => {
    // `… | head` has read enough.
    if (code === "EPIPE") process.exit();
    if (stream === process.stdout) process.stderr.write(`✗ The output cannot be written: ${message}.\n`);
    process.exit(exitCodeOf("failed"));
  });
}

process.exitCode = await runCli(
  process.argv.slice(2),
  { ...streams(), env: process.env, cwd: process.cwd() },
  interrupted.signal,
);

function streams() {
  const { stdin, stdout, stderr } = process;
  return { stdin, stdout, stderr };
}
