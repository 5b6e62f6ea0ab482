/** Listens on loopback ports, prints the addresses as one line of JSON, and ends with the parent. */
export async function serveUntilParentEnds(httpServers) {
  process.stdin.resume().on("end", () => process.exit(0));
  const urls = await Promise.all(httpServers.map(listen));
  process.stdout.write(`${JSON.stringify(urls)}\n`);
}

function listen(server) {
  // A peer waits for its turn: its connections must outlive the pause.
  server.keepAliveTimeout = 300_000;
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => resolve(`http://127.0.0.1:${server.address().port}/mcp`));
  });
}
