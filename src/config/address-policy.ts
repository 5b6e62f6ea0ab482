/** An address that a connection is about to be opened to, and that the operator did not configure. */
export interface AddressRequest {
  /** The scheme, host and port. Without a path, because all requests to an origin share its connections. */
  readonly url: URL;
  /**
   * The IP address of the host, after DNS. If it has several, each is checked, and only allowed ones are
   * used. `undefined` where this process does not resolve names: behind an HTTP proxy, a custom `dispatcher`
   * or `fetch`.
   */
  readonly ip: string | undefined;
  /**
   * Why the connection is needed.
   * - `server`: an MCP server whose address comes from an agent file, a project file or `resolve`
   * - `oauth`: metadata, tokens and registration, at an address that the server or its metadata names
   *
   * Redirects need no decision: they are followed within an origin only.
   */
  readonly purpose: "server" | "oauth";
  /** What is decided without `allowAddress`. Return it for addresses that you have no rule for. */
  readonly allowedByDefault: boolean;
}

/** Decides about an address. Only `true` allows it: any other value and an exception deny it. */
export type AllowAddress = (address: AddressRequest) => boolean | Promise<boolean>;

/**
 * Where the address of a server comes from: its operator wrote it, it is in a file that others may have
 * written, or a function has looked it up.
 */
type AddressSource = "operator" | "file" | "lookup";

/** How much is known about the origin of an address. */
export interface AddressOrigin {
  readonly source: AddressSource;
  /** The operator's own address that led to this one, such as the platform that was asked. */
  readonly operatorUrl?: URL | undefined;
  /** The config file that has the definition. */
  readonly file?: string | undefined;
  /** What looks the definition up; `agent` for the agent definition. */
  readonly provider?: string | undefined;
}

export const OPERATOR_ADDRESS: AddressOrigin = { source: "operator" };

/** Enumerable in a definition, so that copies of it keep the mark. */
const ORIGIN = Symbol.for("langchain-mcp-runtime.addressOrigin");

/** Marks where a definition, and with it an address, comes from. */
export function withAddressOrigin<Definition extends object>(
  definition: Definition,
  origin: AddressOrigin,
): Definition {
  return { ...definition, [ORIGIN]: origin };
}

export function getAddressOrigin(definition: object): AddressOrigin {
  const origin = (Reflect.get(definition, ORIGIN) as AddressOrigin | undefined) ?? OPERATOR_ADDRESS;
  const file = configFiles.get(definition);
  return file === undefined ? origin : { ...origin, file };
}

/** The files of definitions. A copy that is made in code has none. */
const configFiles = new WeakMap<object, string>();

/** Remembers the config file of a definition. */
export function withConfigFile<Definition extends object>(definition: Definition, file: string): Definition {
  configFiles.set(definition, file);
  return definition;
}

/** Marks where the definitions come from that a function looks up. */
export function withLookupOrigin<Lookup extends object>(lookup: Lookup, provider: string): Lookup {
  const origin: AddressOrigin = { source: "lookup", provider };
  return Object.defineProperty(lookup, ORIGIN, { value: origin });
}

const AGENT_PROVIDER = "agent";

/** The origin of a server that an agent definition defines itself. */
export const AGENT_ADDRESS: AddressOrigin = { source: "file", provider: AGENT_PROVIDER };

/** Where the definition of a server comes from. */
export interface ServerProvenance {
  /**
   * - `code`: your own code
   * - `file`: a config file that `loadMcpServers` has read; a copy of its definition that you change counts
   *   as `code`
   * - `agent`: the agent definition itself (`allowInlineServers`)
   * - `lookup`: a registry, or a function: `resolve`, the option `servers` of `createMcpToolsFromAgent`
   */
  readonly source: "code" | "file" | "agent" | "lookup";
  /** The path of the config file; `undefined` for a changed copy of a definition of a project file. */
  readonly file?: string | undefined;
  /** What looked the server up: `uipath`, `registry`; not set for your own functions. */
  readonly provider?: string | undefined;
}

export function toProvenance(
  { source, file, provider }: AddressOrigin,
  { isDynamic }: { readonly isDynamic: boolean },
): ServerProvenance {
  if (provider === AGENT_PROVIDER) return Object.freeze({ source: "agent" });
  if (source === "file" || file !== undefined) return Object.freeze({ source: "file", file });
  if (source === "operator" && !isDynamic) return Object.freeze({ source: "code" });
  return Object.freeze({ source: "lookup", ...(provider === undefined ? {} : { provider }) });
}
