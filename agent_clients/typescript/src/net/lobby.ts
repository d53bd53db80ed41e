/** How a peer joins: channels, a ticket from the lobby, and proofs of holding it. */
import { createHmac, randomBytes } from "node:crypto";

import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { type ChannelOptions, Client, credentials, type ServiceError, status } from "@grpc/grpc-js";

import {
  Busy,
  Refused,
  type ReglueError,
  Unreachable,
  UsageError,
  WrongToken,
  WrongVersion,
} from "../errors.js";
import {
  type JoinRequest,
  JoinRequestSchema,
  Role,
  type Ticket,
  TicketSchema,
} from "../gen/reglue/v1/lobby_pb.js";
import { type JoinString, socketPath, splitAddress, trusting } from "./join_string.js";
import type { Log } from "./log.js";
import { backoff, pause } from "./reconnect.js";
import { tlsTrouble } from "./tls_diagnosis.js";
import { PROTOCOL_MAJOR, PROTOCOL_MINOR, SDK } from "../version.js";
import { glueText } from "../text.js";

/** Largest message of a hub, in either direction, bytes. */
export const HUB_MESSAGE_BYTES = 64 * 1024 * 1024;

const LOOPBACK = ["localhost", "127.0.0.1", "::1"];
const TRY_MS = 5000; // how long one call of Join may take
const QUIET_MS = 2000; // before logging that it waits for a glue
const HANDSHAKE_MS = 2000; // of the handshake that explains a failure

/** The error of a glue that refused the peer, in its words; undefined for other codes. */
export function refusal(code: number | undefined, why: string): ReglueError | undefined {
  const words = glueText(why);
  switch (code) {
    case status.UNAUTHENTICATED:
      return new WrongToken(words);
    case status.FAILED_PRECONDITION:
      return new WrongVersion(words);
    case status.ALREADY_EXISTS:
      return new Busy(words);
    case status.INVALID_ARGUMENT:
      return new Refused(words);
    default:
      return undefined;
  }
}

/** A client for the join string's address, with TLS if it names an authority. */
export function openClient(where: JoinString, maxMessageBytes: number): Client {
  const options: ChannelOptions = {
    "grpc.max_send_message_length": maxMessageBytes,
    "grpc.max_receive_message_length": maxMessageBytes,
    "grpc.keepalive_time_ms": 20_000,
    "grpc.keepalive_timeout_ms": 300_000, // the answer to a ping waits behind a long message
    "grpc.keepalive_permit_without_calls": 1,
    "grpc.enable_retries": 0,
    "grpc.service_config_disable_resolution": 1,
    "grpc.use_local_subchannel_pool": 1, // a try that failed must not delay the next one
  };
  const isSocket = socketPath(where.address) !== undefined;
  if (isSocket || LOOPBACK.includes(splitAddress(where.address).host)) {
    options["grpc.enable_http_proxy"] = 0; // `http_proxy` does not apply to loopback
  }
  if (where.authority.length === 0) {
    return new Client(where.address, credentials.createInsecure(), options);
  }
  if (where.tlsName !== "") options["grpc.ssl_target_name_override"] = where.tlsName;
  const trusted = credentials.createFromSecureContext(trusting(where.authority), {
    rejectUnauthorized: true, // whatever NODE_TLS_REJECT_UNAUTHORIZED says
  });
  return new Client(where.address, trusted, options);
}

/** What a peer is to a glue. */
export type PeerKind = "agent" | "environment" | "experiment";

const ROLES = {
  agent: Role.AGENT,
  environment: Role.ENVIRONMENT,
  experiment: Role.EXPERIMENT,
} as const;

/** How a peer joins. */
export interface Joining {
  readonly kind: PeerKind;
  readonly name: string;
  readonly connectTimeoutMs: number;
  readonly signal: AbortSignal;
  readonly log: Log;
}

/**
 * A ticket; waits up to `connectTimeoutMs` for a glue that is not up yet.
 *
 * Throws Unreachable, WrongToken, WrongVersion, WrongTls, Busy, Refused, and the signal's reason.
 */
export async function join(where: JoinString, joining: Joining): Promise<Ticket> {
  const { connectTimeoutMs, signal, log } = joining;
  const request = create(JoinRequestSchema, {
    major: PROTOCOL_MAJOR,
    minor: PROTOCOL_MINOR,
    role: ROLES[joining.kind],
    token: where.token,
    name: joining.name,
    client: randomBytes(16).toString("hex"), // the same in every try
  });
  const began = performance.now();
  let isQuiet = true;
  for (const pauseMs of backoff()) {
    const leftMs = Math.max(began + connectTimeoutMs - performance.now(), 100);
    try {
      const ticket = await askOnce(where, request, Math.min(leftMs, TRY_MS), signal);
      log("info", `joined the glue at ${where.address}`);
      return ticket;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof UsageError) throw error;
      const { code, details } = error as ServiceError;
      const refused = refusal(code, details);
      if (refused !== undefined) throw refused;
      if (code === status.UNAVAILABLE) {
        const trouble = await tlsTrouble(where, Math.min(leftMs, HANDSHAKE_MS));
        if (trouble !== undefined) throw trouble; // waiting does not fix it
      }
      if (performance.now() + pauseMs > began + connectTimeoutMs) {
        throw unreachable(error as ServiceError, where, connectTimeoutMs);
      }
    }
    if (isQuiet && performance.now() > began + QUIET_MS) {
      isQuiet = false;
      log("warning", `waiting for a glue at ${where.address}, up to ${connectTimeoutMs / 1000} s`);
    }
    await pause(pauseMs, signal);
  }
  throw new Error("the backoff never ends");
}

/** Rejects with a ServiceError. */
async function askOnce(
  where: JoinString,
  request: JoinRequest,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Ticket> {
  // A new client for each try: a failed one waits longer than we want.
  const client = openClient(where, HUB_MESSAGE_BYTES);
  let interrupt = () => {};
  try {
    return await new Promise<Ticket>((resolve, reject) => {
      const call = client.makeUnaryRequest(
        "/reglue.v1.LobbyService/Join",
        (message: JoinRequest) => Buffer.from(toBinary(JoinRequestSchema, message)),
        (bytes: Buffer) => fromBinary(TicketSchema, bytes),
        request,
        { deadline: Date.now() + timeoutMs },
        (error, ticket) => (error === null ? resolve(ticket!) : reject(error)),
      );
      interrupt = () => call.cancel();
      signal.addEventListener("abort", interrupt);
    });
  } finally {
    signal.removeEventListener("abort", interrupt);
    client.close();
  }
}

function unreachable(
  error: ServiceError,
  where: JoinString,
  connectTimeoutMs: number,
): ReglueError {
  const within = `at ${where.address} within ${connectTimeoutMs / 1000} s`;
  if (error.code === status.RESOURCE_EXHAUSTED) {
    return new Busy(`the glue took nobody ${within}: ${glueText(error.details)}`);
  }
  return new Unreachable(
    `no glue answered ${within}; is it running, and is the address right? (${glueText(error.details)})`,
  );
}

/** What the hellos of all roles say. */
export interface Greeting {
  readonly major: number;
  readonly minor: number;
  readonly sdk: string;
  readonly session: string;
  readonly proof: Uint8Array;
  readonly answered: bigint;
}

/** The greeting of a ticket's holder, whose last call was `answered`. */
export function greeting({ session, secret }: Ticket, answered: bigint): Greeting {
  return {
    major: PROTOCOL_MAJOR,
    minor: PROTOCOL_MINOR,
    sdk: SDK,
    session,
    proof: helloProof(secret, session, answered),
    answered,
  };
}

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
