/** A gRPC stream: the Session of a role's service. */
import { type Client, type ClientDuplexStream, Metadata, status } from "@grpc/grpc-js";

import type { Ticket } from "../gen/reglue/v1/lobby_pb.js";
import type { JoinString } from "./join_string.js";
import { openClient, type PeerKind, refusal } from "./lobby.js";
import type { Log } from "./log.js";
import { Stream, StreamEnded } from "./stream.js";
import { glueText } from "../text.js";

/** A call that is under way. */
export class CallStream extends Stream {
  readonly #client: Client;
  readonly #call: ClientDuplexStream<Uint8Array, Uint8Array>;

  /** `where` is where the ticket says that streams are opened. */
  constructor(
    where: JoinString,
    ticket: Ticket,
    { kind, maxMessageBytes, log }: { kind: PeerKind; maxMessageBytes: number; log: Log },
  ) {
    super();
    this.#client = openClient(where, maxMessageBytes);
    const metadata = new Metadata();
    metadata.set("reglue-session", ticket.session);
    this.#call = this.#client.makeBidiStreamRequest(
      `/reglue.v1.${kind[0]!.toUpperCase()}${kind.slice(1)}Service/Session`,
      (message: Uint8Array) => message as Buffer,
      (bytes: Buffer) => bytes,
      metadata,
    );
    this.#call.on("metadata", (headers: Metadata) => {
      this.opened();
      for (const note of headers.get("reglue-note-bin")) log("warning", glueText(note.toString()));
    });
    this.#call.on("readable", () => this.changed());
    this.#call.on("error", () => {}); // its status tells
    this.#call.on("status", ({ code, details }) => this.ended(meant(code, details)));
  }

  override send(message: Uint8Array): void {
    this.#call.write(asBuffer(message));
  }

  /** Ends the stream behind it: the glue ends it too once it has read that. */
  override async sendLast(message: Uint8Array, timeoutMs: number): Promise<void> {
    this.#call.end(asBuffer(message));
    const until = performance.now() + timeoutMs;
    try {
      while ((await this.receive(until - performance.now())) !== undefined);
    } catch {
      // It has ended.
    }
  }

  override close(): void {
    this.#call.cancel();
    this.#client.close();
  }

  protected override take(): Uint8Array | undefined {
    return this.#call.read() ?? undefined;
  }
}

function meant(code: status, details: string): StreamEnded {
  if (code === status.OK) {
    return new StreamEnded("the glue closed the session without a farewell", code);
  }
  const isRefused = refusal(code, details) !== undefined;
  return new StreamEnded(isRefused ? details : `the glue went away: ${details}`, code);
}

/** The same bytes, as gRPC takes them. */
function asBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
