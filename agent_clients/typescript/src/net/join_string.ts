/** What a peer needs to join: address, token and trusted authority, in one string. */
import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { createSecureContext, type SecureContext } from "node:tls";

import { UsageError } from "../errors.js";

/** Most bytes of a Unix socket's path (sun_path holds 108, with the final zero). */
export const LONGEST_PATH = 107;

/** Where a glue listens, and how to join it. */
export interface JoinString {
  /** host:port, or unix:/path of a Unix socket at which the glue's gRPC answers. */
  readonly address: string;
  readonly token: string;
  /** DER of the authority's certificate, or of several; empty: no TLS. */
  readonly authority: Uint8Array;
  /** The name in the glue's certificate; empty: the address's. */
  readonly tlsName: string;
}

/** Options besides the address; they override the join string. */
export interface JoinOptions {
  /** host:port, unix:/path or a join string; REGLUE_ADDRESS by default. */
  readonly address?: string | undefined;
  /** By default the join string's, else REGLUE_TOKEN. */
  readonly token?: string | undefined;
  /** The certificate of the authority to trust: a file, or its bytes; PEM or DER. */
  readonly ca?: string | Uint8Array | undefined;
  /** The name in the glue's certificate; by default the join string's, else the address's. */
  readonly tlsName?: string | undefined;
}

const FORM = "reglue://HOST:PORT?ca=…&name=…&token=…";
const HOST = /^(?:[^\s/?#@:[\]]+|\[[^\s/?#@[\]]*:[^\s/?#@[\]]*\])$/;
const SOCKET = /^unix:(\/[A-Za-z0-9._~/+,@=:-]+)$/; // what gRPC takes as it stands
const LAST_PORT = 65535;
const MAX_PART = 20; // characters of a part that errors repeat: a token that a glue makes has 32

/**
 * The join string of `reglue://…`, `host:port` or `unix:/path`, overridden by the other options.
 *
 * Address and token default to REGLUE_ADDRESS and REGLUE_TOKEN. Throws UsageError.
 */
export function joinString(options: JoinOptions): JoinString {
  const address = (options.address || process.env["REGLUE_ADDRESS"] || "").trim();
  if (address === "") {
    throw new UsageError("no address: give host:port or a join string, or set REGLUE_ADDRESS");
  }
  const parts = address.includes("://") ? parsed(address) : plain(address);
  const whole = {
    address: parts.address,
    token: options.token ?? (parts.token || process.env["REGLUE_TOKEN"] || ""),
    authority: options.ca === undefined ? parts.authority : readAuthority(options.ca),
    tlsName: options.tlsName ?? parts.tlsName,
  };
  if (whole.tlsName !== "" && whole.authority.length === 0) {
    const got = `got TLS name ${whole.tlsName} and no authority to trust`;
    throw new UsageError(`${got}: give the whole join string, or the authority's certificate (ca)`);
  }
  return whole;
}

/** Host, without brackets, and port of `host:port`. Throws UsageError. */
export function splitAddress(address: string): { host: string; port: number } {
  const [, host, port] = /^(.*):(\d+)$/s.exec(address) ?? [];
  if (host === undefined || !HOST.test(host) || Number(port) > LAST_PORT) {
    const got = withoutSecrets(address);
    throw new UsageError(`got address ${got}, wanted host:port such as 127.0.0.1:4096`);
  }
  if (Number(port) === 0) {
    throw new UsageError(`got address ${address}, wanted the port that the glue listens on`);
  }
  return { host: host.replace(/^\[|\]$/g, ""), port: Number(port) };
}

/** The path of `unix:/path`; undefined for another address. */
export function socketPath(address: string): string | undefined {
  return SOCKET.exec(address)?.[1];
}

/** The name that the glue's certificate is to have; of a Unix socket it is gRPC's own choice. */
export function wantedName(where: JoinString): string {
  if (where.tlsName !== "") return where.tlsName;
  return socketPath(where.address) === undefined ? splitAddress(where.address).host : "localhost";
}

function plain(address: string): JoinString {
  const path = socketPath(address);
  if (path === undefined) splitAddress(address);
  else if (path.length > LONGEST_PATH) {
    const got = `got a Unix socket's path of ${path.length} bytes`;
    throw new UsageError(`${got}, wanted ${LONGEST_PATH} at most`);
  }
  return { address, token: "", authority: new Uint8Array(), tlsName: "" };
}

/** A join string. Unknown entries are refused: one may name an authority to trust. */
function parsed(text: string): JoinString {
  const [, address, query] =
    /^reglue:\/\/([^/?#]*|unix:\/[^?#]*?)\/?(?:\?([^#]*))?$/i.exec(text) ?? [];
  if (address === undefined || query === "") {
    throw new UsageError(`got join string ${withoutSecrets(text)}, wanted ${FORM}`);
  }
  const pairs = (query?.split("&") ?? []).map(pair);
  const entries = new Map(pairs);
  const isKnown = pairs.every(([name]) => ["ca", "name", "token"].includes(name));
  if (entries.size < pairs.length || !isKnown) {
    const got = pairs.map(([name]) => part(name)).join(", ");
    throw new UsageError(`got a join string with ${got}, wanted ca, name and token, each once`);
  }
  const ca = entries.get("ca");
  return {
    ...plain(address),
    token: entries.get("token") ?? "",
    authority: ca === undefined ? new Uint8Array() : decoded(ca),
    tlsName: entries.get("name") ?? "",
  };
}

function pair(text: string): [string, string] {
  const words = /^([^=]*)=(.*)$/s.exec(text)?.slice(1) ?? [];
  try {
    const [name, value] = words.map((word) => decodeURIComponent(word.replaceAll("+", " ")));
    if (name !== undefined && value !== undefined) return [name, value];
  } catch {
    // The error below names it.
  }
  throw new UsageError(`a join string's entry is cut or broken, copy it whole; wanted ${FORM}`);
}

function decoded(text: string): Uint8Array {
  const what = "the join string's ca";
  if (!/^[A-Za-z0-9_-]*={0,2}$/.test(text)) {
    throw new UsageError(`${what} is no certificate, copy it whole: it is not base64`);
  }
  return checkedAuthority(Buffer.from(text, "base64url"), what);
}

/** The part of a string that an error may repeat: at most its host, as it may hold a token. */
function withoutSecrets(text: string): string {
  const colon = text.lastIndexOf("://");
  const scheme = colon < 0 ? "" : `${part(text.slice(0, colon))}://`;
  const host = text.slice(colon < 0 ? 0 : colon + 3).split(/[?#/&=]/, 1)[0]!;
  const visible = scheme + part(host.slice(host.lastIndexOf("@") + 1));
  return visible.length === text.length ? visible : `${visible}…`;
}

/** The text, or its beginning if it may be a token. */
function part(text: string): string {
  return text.length <= MAX_PART ? text : `${text.slice(0, 4)}…`;
}

const PEM = /-----BEGIN CERTIFICATE-----([\s\S]*?)-----END CERTIFICATE-----/g;

const SEQUENCE = 0x30; // the tag that a certificate in DER begins with

/**
 * The certificates in a file, or in `source` itself if it is bytes; PEM or DER.
 *
 * Returns DER; of several certificates, one after another. Throws UsageError.
 */
export function readAuthority(source: string | Uint8Array): Uint8Array {
  const what = typeof source === "string" ? source : "the certificate authority";
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

/**
 * A context that trusts only that authority, even if another has signed it.
 *
 * It shows the peer's own certificate if there is one. Throws UsageError.
 */
export function trusting(authority: Uint8Array): SecureContext {
  const ca = splitDer(authority).map((each) => new X509Certificate(each).toString());
  const trusted = { ca, allowPartialTrustChain: true };
  const file = ownCertificate();
  if (file === "") return createSecureContext(trusted);
  const certificate = contentOf(file, "REGLUE_CERT: ");
  try {
    return createSecureContext({ ...trusted, cert: certificate, key: certificate });
  } catch (error) {
    const wanted = "wanted both, in PEM, without a passphrase";
    const why = `REGLUE_CERT: ${file} holds no certificate with its key: ${wanted}`;
    throw new UsageError(why, { cause: error });
  }
}

/** The file of the peer's own certificate and its key, PEM; empty if it has none. */
export function ownCertificate(): string {
  return process.env["REGLUE_CERT"] ?? "";
}

/** The certificates, one after another; at least one. */
function splitDer(der: Uint8Array): Uint8Array[] {
  const certificates: Uint8Array[] = [];
  for (let rest = der; rest.length > 0 || certificates.length === 0;) {
    const size = sizeOf(rest);
    if (size > rest.length) throw new RangeError(`got ${rest.length} bytes, wanted ${size}`);
    certificates.push(rest.subarray(0, size));
    rest = rest.subarray(size);
  }
  return certificates;
}

/** Bytes of the first element, its header included. */
function sizeOf(der: Uint8Array): number {
  if (der.length < 2 || der[0] !== SEQUENCE) throw new RangeError("wanted a sequence of DER");
  const short = der[1]!;
  if (short < 0x80) return 2 + short;
  const digits = short - 0x80;
  return der.subarray(2, 2 + digits).reduce((size, digit) => size * 256 + digit, 0) + 2 + digits;
}

/** `whose` begins the error of a file that cannot be read. */
function contentOf(file: string, whose = ""): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    const why = (error as Error).message;
    throw new UsageError(`${whose}${file} cannot be read: ${why}`, { cause: error });
  }
}
