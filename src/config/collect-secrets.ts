import { isAuthGrant, type ParsedGrant } from "./auth-grant.js";
import { basicCredentials, decoded } from "./basic-credentials.js";
import type { TlsOptions } from "./http-options.js";
import { pemText } from "./pem.js";
import type { DynamicAddress, ServerAddress } from "./server-config.js";

/** Names of environment variables and command line options that hold what nobody should see. */
const SECRET_NAME = /key|token|secret|pass|auth|cred|session|cookie|(?<![a-z])pat(?![a-z])/i;

/** Whether what a variable or an option holds is nobody's business, by its name. */
export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name);
}

/** Shorter values of options are words that mean something: `--auth on`. */
const SHORTEST_OPTION = 8;

/** What a server's address and headers hold that must never be shown: each value, in every form it may be echoed. */
export function secretsOf(address: ServerAddress | DynamicAddress, sessionId: string | undefined): string[] {
  const secrets = sessionId === undefined ? [] : [sessionId];
  if ("url" in address) secrets.push(...secretsOfUrl(address.url));
  if ("headers" in address) secrets.push(...Object.values(address.headers).flatMap(secretsOfHeader));
  if ("auth" in address && isAuthGrant(address.auth)) secrets.push(...secretsOfGrant(address.auth));
  if ("tls" in address) secrets.push(...secretsOfTls(address.tls ?? {}));
  if (address.kind === "stdio") secrets.push(...secretsOfProcess(address));
  if (address.kind === "lambda" && address.endpoint !== undefined) {
    secrets.push(...secretsOfUrl(address.endpoint));
  }
  return secrets;
}

/** A process speaks in lines, so each line of a secret is one, as in a key of many lines. */
function secretsOfProcess({ env, args }: ServerAddress & { readonly kind: "stdio" }): string[] {
  const variables = Object.entries(env).filter(([name]) => isSecretName(name));
  const values = [...variables.map(([, value]) => value), ...args.flatMap(secretOfOption)];
  return [...new Set(values.flatMap((value) => [value, ...value.split(/[\r\n]+/)]))];
}

/** `--token=value`, and `--token` with the value in the next argument. */
function secretOfOption(arg: string, index: number, args: readonly string[]): string[] {
  const [, name = "", value = args[index + 1] ?? ""] = /^--?([\w-]+)(?:=(.*))?$/s.exec(arg) ?? [];
  const isSecret = isSecretName(name) && value.length >= SHORTEST_OPTION;
  return isSecret ? [value] : [];
}

export function secretsOfUrl(url: URL): string[] {
  const { username, password, search, searchParams } = url;
  const query = [...searchParams].flatMap(([key, value]) =>
    value === "" ? [key] : [value, encodeURIComponent(value)],
  );
  return [
    username,
    decoded(username),
    password,
    decoded(password),
    basicCredentials(url) ?? "",
    search.slice(1),
    ...query,
  ];
}

/** What is written down in it; what a function gives is not known before. */
export function secretsOfGrant(grant: ParsedGrant): string[] {
  const { jwt, other } =
    grant.grant === "jwt-bearer"
      ? { jwt: grant.assertion, other: undefined }
      : { jwt: grant.idToken, other: grant.identityProvider.clientSecret };
  const texts = [grant.clientSecret, other, jwt].filter((value) => typeof value === "string");
  return texts.flatMap((secret) => [secret, encodeURIComponent(secret)]);
}

/** The key line by line: it may be told without its line breaks. Its last line may be too short to tell. */
function secretsOfTls({ ca = [], cert = "", key = "" }: TlsOptions): string[] {
  const certificates = [ca, cert].flat().map((pem) => pemText(pem).trim());
  const keyLines = pemText(key).split(/\s*\n\s*/);
  return [...certificates, ...keyLines.filter((line) => line.length >= 16 && !line.startsWith("-----"))];
}

/** The whole value and, after a scheme such as `Bearer`, the credential alone. */
export function secretsOfHeader(value: string): string[] {
  const credential = /^[\w-]+\s+(\S.*)$/.exec(value)?.[1];
  const values = credential === undefined ? [value] : [value, credential];
  return values.flatMap((secret) => [secret, encodeURIComponent(secret)]);
}
