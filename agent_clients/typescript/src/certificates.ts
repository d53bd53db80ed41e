/** Certificates of authorities: read as PEM or DER, kept as DER. */
import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { createSecureContext, type SecureContext } from "node:tls";

import { UsageError } from "./errors.js";

const PEM = /-----BEGIN CERTIFICATE-----([\s\S]*?)-----END CERTIFICATE-----/g;

const SEQUENCE = 0x30; // the tag that a certificate in DER begins with

/**
 * The certificates in a file, or in `source` itself if it is bytes; PEM or DER.
 *
 * Returns DER; of several certificates, one after another. Throws UsageError.
 */
export function readAuthority(source: string | Uint8Array): Uint8Array {
  const what = typeof source === "string" ? source : "what was given as authority";
  const content = Buffer.from(typeof source === "string" ? contentOf(source) : source);
  const blocks = [...content.toString("latin1").matchAll(PEM)].map(([, body]) =>
    Buffer.from(body!, "base64"),
  );
  return checkedAuthority(blocks.length > 0 ? Buffer.concat(blocks) : content, what);
}

/** `der`, if it is one certificate or more; `what` is what holds it. Throws UsageError. */
export function checkedAuthority(der: Uint8Array, what: string): Uint8Array {
  try {
    for (const each of splitDer(der)) new X509Certificate(each);
  } catch (error) {
    const wanted = "wanted that of an authority, whole, in PEM or DER";
    throw new UsageError(`${what} is no certificate: ${wanted}`, { cause: error });
  }
  return der;
}

/** What trusts that authority alone, also where another has signed it. */
export function trusting(authority: Uint8Array): SecureContext {
  const ca = splitDer(authority).map((each) => new X509Certificate(each).toString());
  return createSecureContext({ ca, allowPartialTrustChain: true });
}

/** The certificates that stand one after another, at least one. */
function splitDer(der: Uint8Array): Uint8Array[] {
  const found: Uint8Array[] = [];
  for (let rest = der; rest.length > 0 || found.length === 0;) {
    const size = sizeOf(rest);
    if (size > rest.length) throw new RangeError(`got ${rest.length} bytes, wanted ${size}`);
    found.push(rest.subarray(0, size));
    rest = rest.subarray(size);
  }
  return found;
}

/** Bytes of the first element, its header included. */
function sizeOf(der: Uint8Array): number {
  if (der.length < 2 || der[0] !== SEQUENCE) throw new RangeError("wanted a sequence of DER");
  const short = der[1]!;
  if (short < 0x80) return 2 + short;
  const digits = short - 0x80;
  return der.subarray(2, 2 + digits).reduce((size, digit) => size * 256 + digit, 0) + 2 + digits;
}

function contentOf(file: string): Uint8Array {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new UsageError(`${file} cannot be read: ${(error as Error).message}`, { cause: error });
  }
}
