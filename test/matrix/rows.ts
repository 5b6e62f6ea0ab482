/** One installation in an empty folder, and what is run there. */
export interface MatrixRow {
  readonly name: string;
  /** Installed beside this package. */
  readonly packages: readonly string[];
  /** Versions of indirect dependencies, as a lock file would have them. */
  readonly overrides?: Readonly<Record<string, string>>;
  /** Files in `checks/` that are run with `import` and with `require`. */
  readonly checks?: readonly string[];
  /** Commands that are run in the folder. */
  readonly commands?: readonly (readonly [command: string, ...args: string[]])[];
  /** The Node.js that runs the checks and the tests: a path in the folder. The current one by default. */
  readonly node?: string;
  /** Test files of this repository that are run with the installed Node.js and ioredis. */
  readonly tests?: readonly string[];
  /** A server that the checks use. */
  readonly server?: "redis" | "dynamo";
  /** True if it does not fail the matrix when it cannot be installed. */
  readonly isOptional?: true;
}

const bundle = (format: "esm" | "cjs", ...flags: string[]): MatrixRow => ({
  name: `esbuild, ${format}`,
  packages: ["@langchain/core", "esbuild"],
  commands: [
    [
      "node_modules/.bin/esbuild",
      "checks/bundle.mjs",
      "--bundle",
      "--platform=node",
      `--format=${format}`,
      `--outfile=bundle/main.${format === "esm" ? "mjs" : "cjs"}`,
      "--log-level=error",
      // Optional packages that are not installed.
      ...["ioredis", "ws", "@aws-sdk/*", "@opentelemetry/api"].map((name) => `--external:${name}`),
      ...flags,
    ],
    ["node", `bundle/main.${format === "esm" ? "mjs" : "cjs"}`],
  ],
});

const ioredis = (name: string, version: string): MatrixRow => ({
  name,
  packages: ["@langchain/core", `ioredis@${version}`],
  checks: ["stores"],
  tests: ["stores", "redis-cluster", "redis-sentinel"].map((file) => `test/contracts/${file}.test.ts`),
  server: "redis",
});

const nodeJs = (version: number): MatrixRow => {
  const name = `node-${process.platform}-${process.arch}`;
  return {
    name: `Node.js ${version}`,
    packages: [
      `${name}@${version}`,
      "@langchain/core@1.2.13",
      "langchain@1.5.14",
      "@langchain/langgraph@1.4.18",
    ],
    overrides: { "@langchain/langgraph-sdk": "1.12.3" },
    checks: ["client", "agent", "graph"],
    node: `node_modules/${name}/bin/node`,
    tests: [
      "contracts/transports",
      "integration/transports/tls-and-proxies",
      "integration/transports/stdio",
    ].map((file) => `test/${file}.test.ts`),
    // There is not a package for every platform.
    isOptional: true,
  };
};

/** The oldest and the newest versions that are promised. Where two packages have to fit, both are pinned. */
export const MATRIX: readonly MatrixRow[] = [
  { name: "oldest @langchain/core", packages: ["@langchain/core@1.0.0"], checks: ["client"] },
  { name: "newest @langchain/core", packages: ["@langchain/core@^1.0.0"], checks: ["client"] },
  {
    name: "oldest @langchain/langgraph",
    packages: ["@langchain/core@1.0.1", "@langchain/langgraph@1.0.0"],
    // Newer ones, which npm would choose, do not load with this core.
    overrides: { "@langchain/langgraph-checkpoint": "1.0.0", "@langchain/langgraph-sdk": "1.0.0" },
    checks: ["graph"],
  },
  {
    name: "oldest @langchain/langgraph, newest core",
    packages: ["@langchain/core@^1.0.0", "@langchain/langgraph@1.0.0"],
    checks: ["graph"],
  },
  {
    name: "oldest langchain",
    packages: ["@langchain/core@1.2.13", "langchain@1.2.39", "@langchain/langgraph@1.4.18"],
    overrides: { "@langchain/langgraph-sdk": "1.12.3" },
    checks: ["agent", "graph"],
  },
  {
    name: "oldest langchain, zod 3",
    packages: ["@langchain/core@1.2.13", "langchain@1.2.39", "@langchain/langgraph@1.4.18", "zod@3.25.76"],
    overrides: { "@langchain/langgraph-sdk": "1.12.3" },
    checks: ["agent", "graph"],
  },
  {
    name: "tested langchain",
    packages: ["@langchain/core@1.2.13", "langchain@1.5.14", "@langchain/langgraph@1.4.18"],
    overrides: { "@langchain/langgraph-sdk": "1.12.3" },
    checks: ["agent", "graph"],
  },
  {
    name: "newest langchain and langgraph",
    packages: ["@langchain/core@^1.0.0", "langchain@^1.0.0", "@langchain/langgraph@^1.0.0"],
    checks: ["agent", "graph"],
    // The newest versions in a registry do not always fit each other.
    isOptional: true,
  },
  { name: "oldest ws", packages: ["@langchain/core", "ws@8.19.0"], checks: ["websocket"] },
  { name: "newest ws", packages: ["@langchain/core", "ws@latest"], checks: ["websocket"] },
  ioredis("oldest ioredis", "5.4.0"),
  ioredis("newest ioredis 5", "5"),
  ioredis("newest ioredis", "latest"),
  {
    name: "oldest AWS SDK",
    packages: ["@langchain/core", "@aws-sdk/client-dynamodb@3.1000.0", "@aws-sdk/client-lambda@3.1000.0"],
    checks: ["lambda", "stores"],
    server: "dynamo",
  },
  {
    name: "newest AWS SDK",
    packages: ["@langchain/core", "@aws-sdk/client-dynamodb@^3.1000.0", "@aws-sdk/client-lambda@^3.1000.0"],
    checks: ["lambda", "stores"],
    server: "dynamo",
  },
  {
    name: "oldest @opentelemetry/api",
    packages: ["@langchain/core", "@opentelemetry/api@1.3.0"],
    checks: ["opentelemetry"],
  },
  {
    name: "newest @opentelemetry/api",
    packages: ["@langchain/core", "@opentelemetry/api@latest"],
    checks: ["opentelemetry"],
  },
  {
    name: "beside versions that are too old",
    packages: ["@langchain/core", "ioredis@4.28.5", "ws@7.5.10", "@opentelemetry/api@1.0.4"],
    checks: ["outdated", "client"],
  },
  {
    name: "beside an old langchain",
    packages: ["@langchain/core@^1.0.0", "langchain@1.0.1", "@langchain/langgraph@1.0.0"],
    checks: ["client", "graph", "outdated-langchain"],
  },
  nodeJs(22),
  nodeJs(24),
  nodeJs(26),
  bundle(
    "esm",
    "--banner:js=import { createRequire as createBundleRequire } from 'node:module'; const require = createBundleRequire(import.meta.url);",
  ),
  bundle("cjs"),
  {
    name: "a route of Next.js",
    packages: ["@langchain/core", "next@15", "react@19", "react-dom@19"],
    commands: [["node", "checks/next.mjs"]],
    isOptional: true,
  },
];
