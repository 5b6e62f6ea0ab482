import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import type { Pem } from "./http-options.js";

const CERTIFICATE =
  /-----BEGIN (?:TRUSTED |X509 )?CERTIFICATE-----[\s\S]+?-----END (?:TRUSTED |X509 )?CERTIFICATE-----/g;

export function pemText(pem: Pem): string {
  return typeof pem === "string" ? pem : Buffer.from(pem).toString("utf8");
}

/** Every certificate of a PEM text; `undefined` unless there is at least one and all can be read. */
export function certificatesIn(pem: Pem): X509Certificate[] | undefined {
  const blocks = pemText(pem).match(CERTIFICATE);
  try {
    return blocks?.map((block) => new X509Certificate(block));
  } catch {
    return undefined;
  }
}

/** A private key that can be read without a passphrase. */
export function privateKeyIn(pem: Pem): KeyObject | undefined {
  try {
    return createPrivateKey(pemText(pem));
  } catch {
    return undefined;
  }
}
