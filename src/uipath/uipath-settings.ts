import { configError } from "../errors/config-error.js";
import type { HttpOptions } from "../config/http-options.js";
import { parseServer } from "../config/parse-server.js";
import type { ConfigIssue } from "../errors/mcp-runtime-error.js";

/** Where the platform is and who asks. What is left out comes from the environment. */
export interface UipathOptions extends HttpOptions {
  /** With organisation and tenant: `https://cloud.uipath.com/acme/production`. Else `UIPATH_URL`. */
  readonly url?: string | URL | undefined;
  /** Else `UNATTENDED_USER_ACCESS_TOKEN`, else `UIPATH_ACCESS_TOKEN`: the order of the platform's own SDKs. */
  readonly token?: string | undefined;
  /** The folder of agent resources that name none. Else `UIPATH_FOLDER_PATH`. */
  readonly folderPath?: string | undefined;
}

export interface UipathSettings {
  readonly base: URL;
  readonly headers: { readonly authorization: string };
  /** Which option or variable the token came from. */
  readonly tokenFrom: string;
  readonly folderPath: string | undefined;
  readonly http: HttpOptions;
  /** What must never be shown. */
  readonly secrets: readonly string[];
}

const NO_URL: ConfigIssue = {
  path: "url",
  message:
    "nothing says where the platform is: set UIPATH_URL (https://cloud.uipath.com/organisation/tenant), or give uipathServers({ url })",
};
const NO_TOKEN: ConfigIssue = {
  path: "token",
  message:
    "nothing says who asks: set UIPATH_ACCESS_TOKEN or UNATTENDED_USER_ACCESS_TOKEN, or give uipathServers({ token })",
};

/** Throws kind `definition` when something is missing or wrong. */
export function resolveUipathSettings(
  { tls, dispatcher, fetch, ...options }: UipathOptions,
  env: Readonly<Record<string, string | undefined>>,
): UipathSettings {
  const fromOption = (name: keyof typeof options) => [`uipathServers({ ${name} })`, options[name]] as const;
  const fromEnv = (name: string) => [name, env[name]] as const;
  const url = firstOf(fromOption("url"), fromEnv("UIPATH_URL"));
  const token = firstOf(
    fromOption("token"),
    fromEnv("UNATTENDED_USER_ACCESS_TOKEN"),
    fromEnv("UIPATH_ACCESS_TOKEN"),
  );
  const folderPath = firstOf(fromOption("folderPath"), fromEnv("UIPATH_FOLDER_PATH"))?.text;
  if (url === undefined || token === undefined) {
    const issues = [url === undefined ? [NO_URL] : [], token === undefined ? [NO_TOKEN] : []].flat();
    throw configError("The way to UiPath", issues);
  }
  const headers = { authorization: `Bearer ${token.text}` };
  const http = { tls, dispatcher, fetch };
  const { secrets } = parseServer("UiPath", { type: "http", url: url.text, headers, ...http });
  return { base: new URL(url.text), headers, tokenFrom: token.source, folderPath, http, secrets };
}

type Source = readonly [source: string, value: string | URL | undefined];

/** What is empty was left out, as an empty variable is. */
function firstOf(
  ...sources: readonly Source[]
): { readonly source: string; readonly text: string } | undefined {
  for (const [source, value] of sources) {
    const text = String(value ?? "").trim();
    if (text !== "") return { source, text };
  }
  return undefined;
}
