/** How a session's streams are opened: a Unix socket if one can be opened, else gRPC. */
import { timingSafeEqual } from "node:crypto";

import { fromBinary } from "@bufbuild/protobuf";
import { status } from "@grpc/grpc-js";

import { UsageError } from "../errors.js";
import { type Ticket, UnixSocketWelcomeSchema } from "../gen/reglue/v1/lobby_pb.js";
import { CallStream } from "./grpc_stream.js";
import { type JoinString, LONGEST_PATH } from "./join_string.js";
import { HUB_MESSAGE_BYTES, type PeerKind, unixSocketProof } from "./lobby.js";
import type { Log } from "./log.js";
import { type Stream, StreamEnded } from "./stream.js";
import { glueText } from "../text.js";
import { foreign, openSocket, pathHere, UnixSocketStream } from "./unix_socket.js";

/** `unix` or `grpc` alone; `auto` is a Unix socket if one can be opened, else gRPC. */
export type Transport = "auto" | "grpc" | "unix";

/** All of them. */
export const TRANSPORTS: readonly Transport[] = ["auto", "grpc", "unix"];

const WELCOME_MS = 10_000; // how long a glue may take to answer a hello
const WELCOME_BYTES = 8192; // nothing larger is read before the glue's proof was checked

/** Why this process cannot use a fresh ticket's socket. */
const NOT_OURS: { readonly [code: string]: string } = {
  ENOENT:
    "no such file; the glue is on another host, or in a container: mount its folder of sockets " +
    "here, and name that by REGLUE_UNIX_SOCKET_DIR",
  EACCES: "it is another user's, who may let you in with --open-unix-socket",
};

/** The glue cannot be reached over a Unix socket: why, and whether waiting is useless. */
class NoUnixSocket extends Error {
  constructor(
    why: string,
    readonly isLasting = false,
  ) {
    super(why);
  }
}

/** Who opens streams, and how. */
export interface Dialing {
  readonly kind: PeerKind;
  readonly transport: Transport;
  readonly log: Log;
}

/** The streams of one ticket. */
export class Route {
  /** In either direction. */
  readonly maxMessageBytes: number;

  constructor(
    private readonly joinString: JoinString,
    private readonly ticket: Ticket,
    private readonly dialing: Dialing,
  ) {
    this.maxMessageBytes = ticket.maxMessageBytes || HUB_MESSAGE_BYTES;
  }

  /**
   * A stream on which `hello` was sent; `answered` is the hello's.
   *
   * Throws StreamEnded, the signal's reason, and UsageError if a fresh ticket has no Unix socket and
   * `transport` wants one. A peer that reconnects (`isBack`) had one, and may join anew.
   */
  async open(
    hello: Uint8Array,
    answered: bigint,
    { isBack, signal }: { readonly isBack: boolean; readonly signal: AbortSignal },
  ): Promise<Stream> {
    const { kind, log, transport } = this.dialing;
    if (transport !== "grpc") {
      try {
        const stream = await this.#openUnixSocket(hello, answered, signal);
        log("info", "messages travel over the glue's Unix socket");
        return stream;
      } catch (error) {
        if (!(error instanceof NoUnixSocket)) throw error;
        if (transport === "unix") throw lacking(error, isBack);
        const why = glueText(error.message);
        log("info", `messages travel over gRPC, as there is no Unix socket: ${why}`);
      }
    }
    const { maxMessageBytes } = this;
    const stream = new CallStream(this.#where(), this.ticket, { kind, maxMessageBytes, log });
    stream.send(hello);
    return stream;
  }

  /** Where the ticket says that gRPC's streams are opened. */
  #where(): JoinString {
    const { address, tlsName } = this.ticket;
    return {
      ...this.joinString,
      address: address || this.joinString.address,
      tlsName: tlsName || this.joinString.tlsName,
    };
  }

  /** Throws NoUnixSocket, the signal's reason, and StreamEnded if the glue refuses. */
  async #openUnixSocket(hello: Uint8Array, answered: bigint, signal: AbortSignal): Promise<Stream> {
    if (this.ticket.unixSocketPath === "")
      throw new NoUnixSocket("the glue offers no Unix socket", true);
    const path = pathHere(this.ticket.unixSocketPath);
    const stream = await this.#dial(path);
    try {
      stream.send(hello);
      await this.#enter(stream, answered, signal);
    } catch (error) {
      stream.close();
      throw error;
    }
    stream.opened();
    stream.allow(this.maxMessageBytes);
    return stream;
  }

  async #dial(path: string): Promise<UnixSocketStream> {
    const bytes = Buffer.byteLength(path);
    if (process.platform === "win32")
      throw new NoUnixSocket("this platform has no Unix sockets", true);
    if (bytes > LONGEST_PATH) {
      throw new NoUnixSocket(`${path}: got ${bytes} bytes, wanted at most ${LONGEST_PATH}`, true);
    }
    try {
      const why = foreign(path);
      if (why !== undefined)
        throw new NoUnixSocket(`${path} is no socket of a glue's: ${why}`, true);
      return new UnixSocketStream(await openSocket(path, WELCOME_MS), WELCOME_BYTES);
    } catch (error) {
      if (error instanceof NoUnixSocket) throw error;
      const { code, message } = error as NodeJS.ErrnoException;
      const why = NOT_OURS[code ?? ""];
      throw new NoUnixSocket(`${path} cannot be opened: ${why ?? message}`, why !== undefined);
    }
  }

  /** Check that the ticket's glue answers. */
  async #enter(stream: UnixSocketStream, answered: bigint, signal: AbortSignal): Promise<void> {
    const answer = await stream.receive(WELCOME_MS, signal);
    if (answer === undefined) throw new NoUnixSocket("no welcome at the Unix socket in time");
    const { why, proof, ...welcome } = welcomeOf(answer);
    const code: status = welcome.code;
    if (code === status.RESOURCE_EXHAUSTED) throw new NoUnixSocket(why);
    if (code !== status.OK) throw new StreamEnded(why, code);
    const wanted = unixSocketProof(this.ticket.secret, this.ticket.session, answered);
    if (proof.length !== wanted.length || !timingSafeEqual(proof, wanted)) {
      throw new NoUnixSocket("the process at the Unix socket is not the glue that we joined");
    }
  }
}

function welcomeOf(answer: Uint8Array) {
  try {
    return fromBinary(UnixSocketWelcomeSchema, answer);
  } catch (error) {
    throw new NoUnixSocket(`no welcome at the Unix socket: ${String(error)}`);
  }
}

/** The error for `transport` unix. */
function lacking(why: NoUnixSocket, isBack: boolean): Error {
  if (!why.isLasting || isBack) return new StreamEnded(`${why.message} (transport unix)`);
  return new UsageError(`got transport unix, wanted auto or grpc: ${why.message}`);
}
