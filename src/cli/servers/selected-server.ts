import { isAuthGrant } from "../../config/auth-grant.js";
import { parseServer } from "../../config/parse-server.js";
import type { ServerDefinition } from "../../config/server-definition.js";
import type { ServerAddress, TransportType } from "../../config/server-config.js";
import type { ConfigScope } from "../../config/files/config-source.js";
import { Redactor, redactUrl } from "../../errors/redaction.js";

/** Where a server was defined: on the command line or in a config file. */
type ServerScope = "command-line" | ConfigScope;

/** A server that a command works on. */
export interface SelectedServer {
  readonly name: string;
  readonly definition: ServerDefinition;
  readonly scope: ServerScope;
  /** Display path of the file that defines it. */
  readonly file: string | undefined;
  /** The environment variables that its definition uses. */
  readonly variables: readonly string[];
  readonly kind: TransportType;
  /** URL or command line, with secrets redacted. */
  readonly address: string;
  /** The endpoints that receive values of the definition: the server and its token endpoints. */
  readonly recipients: readonly string[];
  readonly redactor: Redactor;
}

type ParsedAddress = ServerAddress | { readonly kind: "dynamic" };
type DerivedFields = "kind" | "address" | "recipients" | "redactor";

/** Throws `invalid-config` for an invalid definition. */
export function toSelectedServer(server: Omit<SelectedServer, DerivedFields>): SelectedServer {
  const { address, secrets } = parseServer(server.name, server.definition);
  const redactor = new Redactor(secrets);
  const displayAddress = redactor.redact(formatAddress(address));
  const tokenEndpoints = getAuthServerUrls(address).map((url) => redactor.redact(redactUrl(url) ?? ""));
  return {
    ...server,
    kind: address.kind,
    address: displayAddress,
    recipients: [displayAddress, ...tokenEndpoints],
    redactor,
  };
}

function getAuthServerUrls(address: ParsedAddress): URL[] {
  const auth = "auth" in address ? address.auth : undefined;
  if (!isAuthGrant(auth)) return [];
  return [auth.issuer, ...(auth.grant === "enterprise-managed" ? [auth.identityProvider.tokenEndpoint] : [])];
}

function formatAddress(address: ParsedAddress): string {
  switch (address.kind) {
    case "http":
    case "sse":
    case "websocket":
      return redactUrl(address.url) ?? "";
    case "stdio":
      return [address.command, ...address.args].map(shellQuote).join(" ");
    case "lambda":
      return address.functionName;
    case "custom":
    case "in-process":
    case "dynamic":
      return "";
  }
}

/** Quotes an argument for a POSIX shell. */
function shellQuote(argument: string): string {
  return /^[\w@%+=:,./-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", "'\\''")}'`;
}
