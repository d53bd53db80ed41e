/** What shows that a stream belongs to a ticket: HMAC-SHA256 under Ticket.secret. */
import { createHmac } from "node:crypto";

/** That a stream is the ticket's (AgentHello.proof), 32 bytes. */
export function helloProof(secret: Uint8Array, session: string, answered: bigint): Uint8Array {
  return proof(secret, `reglue.v1 hello ${session} ${answered}`);
}

/** That a Unix socket leads to the ticket's glue (UnixSocketWelcome.proof), 32 bytes. */
export function unixSocketProof(secret: Uint8Array, session: string, answered: bigint): Uint8Array {
  return proof(secret, `reglue.v1 unix_socket ${session} ${answered}`);
}

function proof(secret: Uint8Array, text: string): Uint8Array {
  return createHmac("sha256", secret).update(text, "utf8").digest();
}
