import { configError } from "../errors/config-error.js";
import type { HttpOptions } from "../config/http-options.js";
import { parseServer } from "../config/parse-server.js";
import type { ConfigIssue } from "../errors/mcp-runtime-error.js";

/** How to reach the UiPath platform. Missing options are read from environment variables. */
export interface UipathOptions extends HttpOptions {
  /**
   * The URL with organization and tenant: `https://cloud.uipath.com/acme/production`.
   *
   * @default process.env.UIPATH_URL
   */
  readonly url?: string | URL | undefined;
  /**
   * The access token.
   *
   * @default process.env.UNATTENDED_USER_ACCESS_TOKEN, then process.env.UIPATH_ACCESS_TOKEN (the order of the UiPath SDKs)
   */
  readonly token?: string | undefined;
  /**
   * The folder of agent resources without a `folderPath`.
   *
   * @default process.env.UIPATH_FOLDER_PATH
   */
  readonly folderPath?: string | undefined;
}

/** `UipathOptions` with the environment applied. */
export interface UipathSettings {
  readonly base: URL;
  readonly headers: { readonly authorization: string };
  /** The option or variable that the token comes from. */
  readonly tokenSource: string;
  readonly folderPath: string | undefined;
  readonly http: HttpOptions;
  /** Strings to redact. */
  readonly secrets: readonly string[];
}

const NO_URL: ConfigIssue = {
  path: "url",
  message:
    "is missing: set UIPATH_URL (https://cloud.uipath.com/organization/tenant), or pass uipathServers({ url })",
};
const NO_TOKEN: ConfigIssue = {
  path: "token",
  message:
    "is missing: set UIPATH_ACCESS_TOKEN or UNATTENDED_USER_ACCESS_TOKEN, or pass uipathServers({ token })",
};

/** Throws kind `invalid-config` when an option is missing or invalid. */
export function resolveUipathSettings(
  { tls, dispatcher, fetch, ...options }: UipathOptions,
  env: Readonly<Record<string, string | undefined>>,
): UipathSettings {
  const fromOption = (name: keyof typeof options) => [`uipathServers({ ${name} })`, options[name]] as const;
  const fromEnv = (name: string) => [name, env[name]] as const;
  const url = firstDefined(fromOption("url"), fromEnv("UIPATH_URL"));
  const token = firstDefined(
    fromOption("token"),
    fromEnv("UNATTENDED_USER_ACCESS_TOKEN"),
    fromEnv("UIPATH_ACCESS_TOKEN"),
  );
  const folderPath = firstDefined(fromOption("folderPath"), fromEnv("UIPATH_FOLDER_PATH"))?.text;
  if (url === undefined || token === undefined) {
    const issues = [url === undefined ? [NO_URL] : [], token === undefined ? [NO_TOKEN] : []].flat();
    throw configError("The UiPath configuration", issues);
  }
  const headers = { authorization: `Bearer ${token.text}` };
  const http = { tls, dispatcher, fetch };
  const { secrets } = parseServer("UiPath", { type: "http", url: url.text, headers, ...http });
  return { base: new URL(url.text), headers, tokenSource: token.source, folderPath, http, secrets };
}

type Source = readonly [source: string, value: string | URL | undefined];

/** The first source with a value. Empty strings count as missing, as in environment variables. */
function firstDefined(
  ...sources: readonly Source[]
): { readonly source: string; readonly text: string } | undefined {
  for (const [source, value] of sources) {
    const text = String(value ?? "").trim();
    if (text !== "") return { source, text };
  }
  return undefined;
}
