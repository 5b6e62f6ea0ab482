import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import type { InProcessServer, MessageTransport } from "../config/message-transport.js";

/** Connects to a server in this process. Each session gets its own pair of linked transports. */
export async function openInProcessTransport(server: InProcessServer): Promise<MessageTransport> {
  const [clientEnd, serverEnd] = InMemoryTransport.createLinkedPair();
  await server.connect(serverEnd);
  return clientEnd;
}
