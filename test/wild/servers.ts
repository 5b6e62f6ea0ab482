/** A real server of an npm package, and how it is used without a network and without real credentials. */
export interface WildServer {
  /** The npm package. */
  readonly package: string;
  /** Distinguishes two entries of one package. */
  readonly suffix?: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** The path of its URL. The server is then started with `args`, in which `{port}` is a free port. */
  readonly path?: string;
  /** A tool that neither needs a network nor changes anything. Without one, the tools are listed again. */
  readonly call?: { readonly name: string; readonly args?: Readonly<Record<string, unknown>> };
}

/** Replaced in `args` and `env`: a free port, a temporary folder with a kubeconfig, and the folder of all packages. */
export const PLACEHOLDERS = ["{port}", "{folder}", "{modules}"] as const;

const EVERYTHING = "{modules}/@modelcontextprotocol/server-everything/dist/index.js";
const ECHO = { name: "echo", args: { message: "hello" } };

/** All of them are expected to work. */
export const WILD_SERVERS: readonly WildServer[] = [
  { package: "@modelcontextprotocol/server-everything", args: ["stdio"], call: ECHO },
  {
    package: "@modelcontextprotocol/server-everything",
    suffix: "http",
    args: ["streamableHttp"],
    env: { PORT: "{port}" },
    path: "/mcp",
    call: ECHO,
  },
  {
    package: "@modelcontextprotocol/server-everything",
    suffix: "sse",
    args: ["sse"],
    env: { PORT: "{port}" },
    path: "/sse",
    call: ECHO,
  },
  {
    package: "@modelcontextprotocol/server-filesystem",
    args: ["{folder}"],
    call: { name: "list_allowed_directories" },
  },
  {
    package: "@modelcontextprotocol/server-memory",
    env: { MEMORY_FILE_PATH: "{folder}/memory.jsonl" },
    call: { name: "read_graph" },
  },
  {
    package: "@modelcontextprotocol/server-sequential-thinking",
    call: {
      name: "sequentialthinking",
      args: { thought: "One.", nextThoughtNeeded: false, thoughtNumber: 1, totalThoughts: 1 },
    },
  },
  { package: "@modelcontextprotocol/server-github", env: { GITHUB_PERSONAL_ACCESS_TOKEN: "dummy" } },
  {
    package: "@modelcontextprotocol/server-slack",
    env: { SLACK_BOT_TOKEN: "xoxb-dummy", SLACK_TEAM_ID: "T0" },
  },
  {
    package: "kubernetes-mcp-server",
    args: ["--kubeconfig", "{folder}/kubeconfig"],
    call: { name: "configuration_view" },
  },
  {
    package: "kubernetes-mcp-server",
    suffix: "http",
    args: ["--port", "{port}", "--kubeconfig", "{folder}/kubeconfig"],
    path: "/mcp",
    call: { name: "configuration_view" },
  },
  {
    package: "supergateway",
    suffix: "stateless",
    args: ["--stdio", `node ${EVERYTHING} stdio`, "--outputTransport", "streamableHttp", "--port", "{port}"],
    path: "/mcp",
    call: ECHO,
  },
  {
    package: "supergateway",
    suffix: "stateful",
    args: [
      "--stdio",
      `node ${EVERYTHING} stdio`,
      "--outputTransport",
      "streamableHttp",
      "--stateful",
      "--port",
      "{port}",
    ],
    path: "/mcp",
    call: ECHO,
  },
  {
    package: "supergateway",
    suffix: "sse",
    args: ["--stdio", `node ${EVERYTHING} stdio`, "--outputTransport", "sse", "--port", "{port}"],
    path: "/sse",
    call: ECHO,
  },
  { package: "@executeautomation/playwright-mcp-server", call: { name: "playwright_close" } },
  {
    package: "@executeautomation/playwright-mcp-server",
    suffix: "http",
    args: ["--port", "{port}"],
    path: "/mcp",
    call: { name: "playwright_close" },
  },
  { package: "@playwright/mcp", args: ["--headless", "--isolated"] },
  {
    package: "@playwright/mcp",
    suffix: "http",
    args: ["--headless", "--isolated", "--port", "{port}"],
    path: "/mcp",
  },
  { package: "chrome-devtools-mcp", args: ["--headless", "--isolated"] },
  { package: "@softeria/ms-365-mcp-server", args: ["--org-mode"], call: { name: "list-accounts" } },
  {
    package: "mongodb-mcp-server",
    args: ["--readOnly", "--telemetry", "disabled"],
    call: { name: "list-connections" },
  },
  { package: "@notionhq/notion-mcp-server", env: { NOTION_TOKEN: "ntn_dummy" } },
  { package: "firecrawl-mcp", env: { FIRECRAWL_API_KEY: "fc-dummy" } },
  { package: "exa-mcp-server", env: { EXA_API_KEY: "dummy" } },
  { package: "tavily-mcp", env: { TAVILY_API_KEY: "tvly-dummy" } },
  { package: "@brave/brave-search-mcp-server", env: { BRAVE_API_KEY: "dummy" } },
  { package: "@upstash/context7-mcp" },
  { package: "@sentry/mcp-server", args: ["--access-token=dummy"] },
  { package: "@hubspot/mcp-server", env: { PRIVATE_APP_ACCESS_TOKEN: "dummy" } },
  {
    package: "@elastic/mcp-server-elasticsearch",
    env: { ES_URL: "http://127.0.0.1:1", ES_API_KEY: "dummy" },
  },
  { package: "@cyanheads/git-mcp-server" },
  { package: "mcp-server-kubernetes", env: { KUBECONFIG: "{folder}/kubeconfig" } },
  { package: "figma-developer-mcp", args: ["--figma-api-key=dummy", "--stdio"] },
  { package: "airtable-mcp-server", env: { AIRTABLE_API_KEY: "pat.dummy" } },
  { package: "@mapbox/mcp-server", env: { MAPBOX_ACCESS_TOKEN: "pk.eyJ1IjoiZHVtbXkifQ.dummy" } },
];
