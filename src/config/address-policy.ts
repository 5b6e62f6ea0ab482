/** An address that a connection is about to be opened to, and that the operator did not configure. */
export interface AddressRequest {
  /** The scheme, host and port. Connections are shared by all requests to them, so that there is no path. */
  readonly url: URL;
  /**
   * The IP address that the host has, after DNS. If it has several, each is checked, and only allowed ones are used.
   * `undefined` where this process does not resolve names: behind an HTTP proxy, a custom `dispatcher` or `fetch`.
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
 * Where the address of a server comes from: its operator wrote it, it is in a file that others may have written, or a
 * function has looked it up.
 */
type AddressSource = "operator" | "file" | "lookup";

/** How much is known about the origin of an address. */
export interface AddressOrigin {
  readonly source: AddressSource;
  /** The operator's own address that led to this one, such as the platform that was asked. */
  readonly operatorUrl?: URL | undefined;
}

export const OPERATOR_ADDRESS: AddressOrigin = { source: "operator" };

/** Enumerable in a definition, so that copies of it keep the mark. */
const ORIGIN = Symbol.for("langchain-mcp-runtime.addressOrigin");

/** Marks the address of a definition as not written by the operator. */
export function withAddressOrigin<Definition extends object>(
  definition: Definition,
  origin: AddressOrigin,
): Definition {
  return { ...definition, [ORIGIN]: origin };
}

export function getAddressOrigin(definition: object): AddressOrigin {
  return (Reflect.get(definition, ORIGIN) as AddressOrigin | undefined) ?? OPERATOR_ADDRESS;
}
