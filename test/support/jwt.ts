import {
  createPublicKey,
  generateKeyPairSync,
  type JsonWebKey,
  type KeyObject,
  sign,
  verify,
} from "node:crypto";

type Claims = Readonly<Record<string, unknown>>;

export interface SigningKey {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

export function signingKey(): SigningKey {
  return generateKeyPairSync("ec", { namedCurve: "P-256" });
}

const encode = (part: Claims) => Buffer.from(JSON.stringify(part)).toString("base64url");
const decode = (part = "") => JSON.parse(Buffer.from(part, "base64url").toString("utf8")) as Claims;

export function signJwt({ privateKey }: SigningKey, claims: Claims, header: Claims = {}): string {
  const text = `${encode({ alg: "ES256", ...header })}.${encode(claims)}`;
  const signature = sign("sha256", Buffer.from(text), { key: privateKey, dsaEncoding: "ieee-p1363" });
  return `${text}.${signature.toString("base64url")}`;
}

/** What a JWT says, if that key signed it; without one, the key that it brings itself. */
export function verifiedJwt(jwt: string, key?: KeyObject): { header: Claims; claims: Claims } | undefined {
  const [head = "", body = "", signature = ""] = jwt.split(".");
  try {
    const header = decode(head);
    const publicKey = key ?? createPublicKey({ key: header["jwk"] as JsonWebKey, format: "jwk" });
    const isGood = verify(
      "sha256",
      Buffer.from(`${head}.${body}`),
      { key: publicKey, dsaEncoding: "ieee-p1363" },
      Buffer.from(signature, "base64url"),
    );
    return isGood ? { header, claims: decode(body) } : undefined;
  } catch {
    return undefined;
  }
}
