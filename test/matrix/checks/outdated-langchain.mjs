import { withApprovedTools } from "./support.mjs";

export const packages = [
  "langchain-mcp-runtime",
  "langchain-mcp-runtime/langchain",
  "langchain-mcp-runtime/testing",
];

/** `mcpMiddleware` beside a `langchain` that is too old says what to update. */
export async function check(modules) {
  const { mcpMiddleware } = modules["langchain-mcp-runtime/langchain"];
  return withApprovedTools(modules, async (mcp) => {
    try {
      mcpMiddleware(mcp);
    } catch (error) {
      if (error.kind === "invalid-config" && error.message.includes("npm install langchain@latest"))
        return "works";
      throw error;
    }
  });
}
