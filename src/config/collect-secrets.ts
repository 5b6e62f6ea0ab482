import { tryDecodeURIComponent } from "../json/json.js";
import { isAuthGrant, type ParsedGrant } from "./auth-grant.js";
import { type TlsOptions, pemToString } from "./http-options.js";
import type { DynamicAddress, ServerAddress } from "./server-config.js";

/** Names of environment variables and command line options that hold secrets. */
const SECRET_NAME = /key|token|secret|pass|auth|cred|session|cookie|(?<![a-z])pat(?![a-z])/i;

/** Whether the value of an environment variable or command line option is secret, judged by its name. */
export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name);
}

/** Shorter option values are ordinary words: `--auth on`. */
const MIN_OPTION_SECRET_LENGTH = 8;

/** Collects every secret of a server's address and headers, in each form in which it may be echoed. */
export function collectSecrets(
  address: ServerAddress | DynamicAddress,
  sessionId: string | undefined,
): string[] {
  const secrets: string[][] = sessionId === undefined ? [] : [[sessionId]];
  if ("url" in address) secrets.push(collectUrlSecrets(address.url));
  if ("headers" in address) secrets.push(Object.values(address.headers).flatMap(collectHeaderSecrets));
  if ("auth" in address && isAuthGrant(address.auth)) secrets.push(collectGrantSecrets(address.auth));
  if ("tls" in address) secrets.push(collectTlsSecrets(address.tls ?? {}));
  if (address.kind === "stdio") secrets.push(collectProcessSecrets(address));
  if (address.kind === "lambda" && address.endpoint !== undefined) {
    secrets.push(collectUrlSecrets(address.endpoint));
  }
  return secrets.flat();
}

/** Process output is redacted line by line, so each line of a multi-line secret counts as a secret. */
function collectProcessSecrets({ env, args }: ServerAddress & { readonly kind: "stdio" }): string[] {
  const variables = Object.entries(env).filter(([name]) => isSecretName(name));
  const values = [
    ...variables.map(([, value]) => value),
    ...args.flatMap(findOptionSecret),
    ...args.flatMap(findPositionalSecrets),
  ];
  return [...new Set(values.flatMap((value) => [value, ...value.split(/[\r\n]+/)]))];
}

/** `--token=value`, and `--token` with the value in the next argument. */
function findOptionSecret(arg: string, index: number, args: readonly string[]): string[] {
  const [, name = "", value = args[index + 1] ?? ""] = /^--?([\w-]+)(?:=(.*))?$/s.exec(arg) ?? [];
  const isSecret = isSecretName(name) && value.length >= MIN_OPTION_SECRET_LENGTH;
  return isSecret ? [value] : [];
}

/** The forms of keys and tokens of widely used services, and JSON Web Tokens. */
const CREDENTIAL_FORM =
  /^(?:gh[oprsu]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|sk[-_][\w-]{16,}|[pr]k_(?:live|test)_\w{10,}|xox[abeoprs]-[\w-]{10,}|(?:AKIA|ASIA)[A-Z\d]{16}|AIza[\w-]{30,}|ya29\.[\w-]{20,}|hf_\w{20,}|npm_\w{30,}|ntn_\w{20,}|secret_\w{20,}|tvly-[\w-]{16,}|fc-[\da-f]{20,}|sbp_[\da-f]{20,}|SG\.[\w-]{16,}\.[\w-]{16,}|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*)$/;

/**
 * A credential of a known form, `API_KEY=value` (`docker run -e`), and the password of a URL
 * (`postgres://…`).
 */
function findPositionalSecrets(arg: string): string[] {
  const [, name = "", value = arg] = /^([A-Za-z_]\w*)=(.*)$/s.exec(arg) ?? [];
  const isNamed = isSecretName(name) && value.length >= MIN_OPTION_SECRET_LENGTH;
  if (isNamed || CREDENTIAL_FORM.test(value)) return [value];
  const password = URL.canParse(value) ? new URL(value).password : "";
  return password === "" ? [] : [password, tryDecodeURIComponent(password)];
}

export function collectUrlSecrets(url: URL): string[] {
  const { username, password, search, searchParams } = url;
  const query = [...searchParams].flatMap(([key, value]) =>
    value === "" ? [key] : [value, encodeURIComponent(value)],
  );
  return [
    username,
    tryDecodeURIComponent(username),
    password,
    tryDecodeURIComponent(password),
    toBasicAuth(url) ?? "",
    search.slice(1),
    ...query,
  ];
}

/** Only literal values: JWTs from functions are not known yet. */
export function collectGrantSecrets(grant: ParsedGrant): string[] {
  const { jwt, other: identityProviderSecret } =
    grant.grant === "jwt-bearer"
      ? { jwt: grant.assertion, other: undefined }
      : { jwt: grant.idToken, other: grant.identityProvider.clientSecret };
  const literals = [grant.clientSecret, identityProviderSecret, jwt].filter(
    (value) => typeof value === "string",
  );
  return literals.flatMap(collectUrlForms);
}

/** The key is split into lines because it may be echoed without its line breaks; short lines are skipped. */
function collectTlsSecrets({ ca = [], cert = "", key = "" }: TlsOptions): string[] {
  const certificates = [ca, cert].flat().map((pem) => pemToString(pem).trim());
  const keyLines = pemToString(key).split(/\s*\n\s*/);
  return [...certificates, ...keyLines.filter((line) => line.length >= 16 && !line.startsWith("-----"))];
}

/** The whole value, and the credential after a scheme such as `Bearer`. */
export function collectHeaderSecrets(value: string): string[] {
  const credential = /^[\w-]+\s+(\S.*)$/.exec(value)?.[1];
  const values = credential === undefined ? [value] : [value, credential];
  return values.flatMap(collectUrlForms);
}

/** A secret as it is, and as it is written in a URL or a form. */
export function collectUrlForms(secret: string): string[] {
  try {
    return [secret, encodeURIComponent(secret), new URLSearchParams({ "": secret }).toString().slice(1)];
  } catch {
    // A string with half of a surrogate pair cannot be encoded.
    return [secret];
  }
}

/** The user and password of a URL, encoded for basic authentication; `undefined` when it has neither. */
export function toBasicAuth({ username, password }: URL): string | undefined {
  if (username === "" && password === "") return undefined;
  return Buffer.from(`${tryDecodeURIComponent(username)}:${tryDecodeURIComponent(password)}`).toString(
    "base64",
  );
}
