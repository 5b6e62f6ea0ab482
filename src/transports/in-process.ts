import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import type { InProcessServer, MessageTransport } from "../config/message-transport.js";

/** Connects to a server in this process; each session is a new pair of linked ends. */
export async function openInProcessTransport(server: InProcessServer): Promise<MessageTransport> {
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  await server.connect(theirs);
  return ours;
}
