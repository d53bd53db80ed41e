/** What shows that a stream belongs to a ticket: HMAC-SHA256 under Ticket.secret. */
import { createHmac } from "node:crypto";

/** That a stream is the ticket's (Hello.proof), 32 bytes. */
export function helloProof(secret: Uint8Array, session: string, answered: bigint): Uint8Array {
  return proof(secret, `reglue.v1 hello ${session} ${answered}`);
}

/** That a lane leads to the ticket's glue (LaneWelcome.proof), 32 bytes. */
export function laneProof(secret: Uint8Array, session: string, answered: bigint): Uint8Array {
  return proof(secret, `reglue.v1 lane ${session} ${answered}`);
}

function proof(secret: Uint8Array, text: string): Uint8Array {
  return createHmac("sha256", secret).update(text, "utf8").digest();
}
