import { isAuthGrant } from "../../config/auth-grant.js";
import { parseServer } from "../../config/parse-server.js";
import type { ServerDefinition } from "../../config/server-definition.js";
import type { ServerAddress, ServerKind } from "../../config/server-config.js";
import type { ConfigScope } from "../../config/files/config-source.js";
import { Redactor, redactUrl } from "../../errors/redaction.js";

/** Who says that there is this server: whoever typed the command, or a file (see `ConfigScope`). */
type ServerScope = "command-line" | ConfigScope;

/** A server that a command is about. */
export interface ChosenServer {
  readonly name: string;
  readonly definition: ServerDefinition;
  readonly scope: ServerScope;
  /** The file it stands in, as it is shown. */
  readonly file: string | undefined;
  /** The environment variables that its file puts into it. */
  readonly variables: readonly string[];
  readonly kind: ServerKind;
  /** Where it is, or what starts it, without anything secret. */
  readonly address: string;
  /** Who is sent what stands in its definition: the server, and whoever gives tokens for it. */
  readonly recipients: readonly string[];
  readonly redactor: Redactor;
}

type ParsedAddress = ServerAddress | { readonly kind: "dynamic" };
type Facts = "kind" | "address" | "recipients" | "redactor";

/** Throws kind `definition` when the definition is wrong. */
export function toChosenServer(server: Omit<ChosenServer, Facts>): ChosenServer {
  const { address, secrets } = parseServer(server.name, server.definition);
  const redactor = new Redactor(secrets);
  const place = redactor.text(addressText(address));
  const givers = tokenGiversOf(address).map((url) => redactor.text(redactUrl(url) ?? ""));
  return { ...server, kind: address.kind, address: place, recipients: [place, ...givers], redactor };
}

function tokenGiversOf(address: ParsedAddress): URL[] {
  const auth = "auth" in address ? address.auth : undefined;
  if (!isAuthGrant(auth)) return [];
  return [auth.issuer, ...(auth.grant === "enterprise-managed" ? [auth.identityProvider.tokenEndpoint] : [])];
}

function addressText(address: ParsedAddress): string {
  switch (address.kind) {
    case "http":
    case "sse":
    case "websocket":
      return redactUrl(address.url) ?? "";
    case "stdio":
      return [address.command, ...address.args].map(quoted).join(" ");
    case "lambda":
      return address.functionName;
    case "custom":
    case "in-process":
    case "dynamic":
      return "";
  }
}

/** As it would be typed. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
