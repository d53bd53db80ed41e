/**
 * Why a connection failed, if TLS is the reason: gRPC does not say it.
 *
 * The connection is tried again without gRPC, up to the TLS handshake; nothing else is sent, and
 * nothing is trusted because of it.
 */
import { isIP } from "node:net";
import { connect } from "node:tls";

import { WrongTls } from "../errors.js";
import {
  type JoinString,
  ownCertificate,
  socketPath,
  splitAddress,
  trusting,
  wantedName,
} from "./join_string.js";

const OTHER_AUTHORITY = [
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "CERT_SIGNATURE_FAILURE",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
];

const CUT_OFF = /^(ECONN|EPIPE|ETIMEDOUT|EHOST|ENET|ENOTFOUND|EAI_)/;

/**
 * What is wrong with TLS between this peer and the glue; undefined if nothing is.
 *
 * Also undefined if nothing answers in time.
 */
export async function tlsTrouble(
  where: JoinString,
  timeoutMs: number,
): Promise<WrongTls | undefined> {
  const isTls = where.authority.length > 0;
  let outcome = await shakeHands(where, timeoutMs);
  // A glue that asks for a certificate closes the connection, and sends no alert. One that stops
  // just now does not do so twice.
  if (outcome === "shut") outcome = await shakeHands(where, timeoutMs);
  if (outcome === "shut") return certificateError(where);
  if (outcome instanceof Error) return wrongTls(outcome, where);
  if (isTls || outcome !== "done") return undefined;
  const wanted = "give its whole join string, or the certificate of its authority (ca)";
  return new WrongTls(`the glue at ${where.address} speaks TLS: ${wanted}`);
}

/** The error for a certificate that the peer lacks, or that is refused. */
function certificateError(where: JoinString): WrongTls {
  const glue = `the glue at ${where.address}`;
  const file = ownCertificate();
  if (file === "") {
    const wanted = "set REGLUE_CERT to the file that the host gave you";
    return new WrongTls(`${glue} asks for a certificate of yours: ${wanted}`);
  }
  const refused = `does not accept the certificate in ${file} (REGLUE_CERT)`;
  return new WrongTls(`${glue} ${refused}: ask the host for a new one`);
}

/** How a handshake went; `shut`: the glue ended the connection after it, without a word. */
type Outcome = "done" | "late" | "shut" | Error;

/** A TLS handshake like gRPC's; without an authority to trust it checks no certificate. */
function shakeHands(where: JoinString, timeoutMs: number): Promise<Outcome> {
  const [path, name] = [socketPath(where.address), wantedName(where)];
  const isTls = where.authority.length > 0;
  return new Promise((resolve) => {
    const socket = connect({
      ...(path === undefined ? splitAddress(where.address) : { path }),
      servername: where.tlsName || (isIP(name) ? "" : name), // none is sent for an address
      ALPNProtocols: ["h2"],
      rejectUnauthorized: isTls,
      ...(isTls ? { secureContext: trusting(where.authority) } : {}),
    });
    const end = (outcome: Outcome) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(outcome);
    };
    const timer = setTimeout(end, timeoutMs, "late");
    socket.once(isTls ? "data" : "secureConnect", () => end("done"));
    socket.once("secureConnect", () => socket.once("end", () => end("shut")));
    socket.on("error", end);
  });
}

/** The reason of a failed handshake. */
function wrongTls(error: NodeJS.ErrnoException, where: JoinString): WrongTls | undefined {
  const code = error.code ?? "";
  const whose = `the certificate of the glue at ${where.address}`;
  if (CUT_OFF.test(code)) return undefined; // the glue may come back
  if (OTHER_AUTHORITY.includes(code)) {
    const wanted = "ask the host for its present join string, or somebody else answers there";
    return new WrongTls(`${whose} is not signed by the authority that you trust: ${wanted}`);
  }
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") {
    const wanted = "give the name that it is made out to (tlsName), or use the host's join string";
    return new WrongTls(`${whose} is not made out to ${wantedName(where)}: ${wanted}`);
  }
  if (code === "CERT_HAS_EXPIRED" || code === "CERT_NOT_YET_VALID") {
    const when = code === "CERT_HAS_EXPIRED" ? "has expired" : "is not valid yet";
    return new WrongTls(`${whose} ${when}: the host must renew it, or a clock is wrong`);
  }
  if (code.startsWith("CERT_")) return new WrongTls(`${whose} cannot be trusted: ${code}`);
  if (code.includes("ALERT")) {
    return new WrongTls(`the glue at ${where.address} refused the TLS handshake: ${code}`);
  }
  if (where.authority.length === 0) return undefined;
  return new WrongTls(
    `what answers at ${where.address} does not speak TLS, although the join string asks for TLS (${code}): ` +
      "ask the host for its present join string; nothing was sent without TLS",
  );
}
