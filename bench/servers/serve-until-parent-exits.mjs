/** Listens on loopback ports, prints the URLs as one line of JSON, and exits with the parent process. */
export async function serveUntilParentExits(httpServers) {
  process.stdin.resume().on("end", () => process.exit(0));
  const urls = await Promise.all(httpServers.map(listen));
  process.stdout.write(`${JSON.stringify(urls)}\n`);
}

function listen(server) {
  // A peer is idle while others have their turn: its connections must outlive the pause.
  server.keepAliveTimeout = 300_000;
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => resolve(`http://127.0.0.1:${server.address().port}/mcp`));
  });
}
