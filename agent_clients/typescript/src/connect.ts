/** Connects an agent to a glue: from a program, or as a program. */
import { endianness } from "node:os";

import { type Agent, checkAgent } from "./agent.js";
import { Refused, ReglueError, UsageError } from "./errors.js";
import { type Given, joinString } from "./net/join_string.js";
import { type Transport, TRANSPORTS } from "./net/route.js";
import { playSession } from "./session.js";
import { printable } from "./words.js";

/** How an agent connects. */
export interface ConnectOptions extends Given {
  /** The agent's name, for people; by default its class's. */
  readonly name?: string | undefined;
  /** How long to wait for a glue that is not up, or is gone, seconds; 60 by default. */
  readonly connectTimeoutS?: number | undefined;
  /** `unix` or `grpc` alone; `auto` is a Unix socket if it can be opened, else gRPC. */
  readonly transport?: Transport | undefined;
  /**
   * Aborting it interrupts the session: the glue is told, and its reason is thrown. A routine that
   * awaits something is not waited for.
   */
  readonly signal?: AbortSignal | undefined;
  /** Gets lines for the author, such as refusals and lost connections; by default stderr. */
  readonly log?: ((words: string) => void) | undefined;
}

/**
 * Play a session until the glue's farewell; returns its text.
 *
 * `address` is `host:port` or a join string, which also holds the token and the trusted authority;
 * they default to REGLUE_ADDRESS and REGLUE_TOKEN of the environment. With an authority (`ca`) the
 * connection uses TLS, and never goes without it. It reconnects when a connection breaks, as
 * long as the glue allows and at most `connectTimeoutS`, and every call is carried out once.
 *
 * Throws NotAnAgent (a routine is missing), Unreachable, Refused (wrong token, wrong version,
 * WrongTls, busy), SessionLost (the glue went away), UsageError (no address, no such transport
 * here), and whatever the agent itself throws, after telling the glue.
 */
export async function connect(agent: Agent, options: ConnectOptions = {}): Promise<string> {
  if (endianness() !== "LE") throw new UsageError("this client needs a little-endian machine");
  checkAgent(agent);
  options.signal?.throwIfAborted();
  const { transport = "auto", connectTimeoutS = 60 } = options;
  if (!TRANSPORTS.includes(transport)) {
    throw new UsageError(`got transport ${transport}, wanted ${TRANSPORTS.join(", ")}`);
  }
  if (!(connectTimeoutS >= 0))
    throw new UsageError(`got a connect timeout of ${connectTimeoutS} s, wanted 0 or more`);
  const log = options.log ?? ((words: string) => console.error(`reglue: ${words}`));
  return playSession(agent, joinString(options), {
    name: options.name ?? agent.constructor.name,
    connectTimeoutMs: 1000 * connectTimeoutS,
    transport,
    signal: options.signal ?? new AbortController().signal,
    log: (words) => log(printable(words)),
  });
}

const INTERRUPTED = 130; // as a shell says of a program that Ctrl-C ended

/**
 * Play a session as `connect`, and leave the process when it is over.
 *
 * Exit codes are those of `reglue join`: 0 farewell, 1 the agent failed or the glue went away,
 * 2 wrong usage or refused, 130 interrupted (SIGINT, SIGTERM). The second Ctrl-C ends it at once.
 */
export async function main(
  agent: Agent,
  options: Omit<ConnectOptions, "signal"> = {},
): Promise<never> {
  const interruption = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => interruption.abort());
  }
  try {
    const reason = await connect(agent, { ...options, signal: interruption.signal });
    console.error(`reglue: ${reason}`);
    process.exit(0);
  } catch (error) {
    if (interruption.signal.aborted) process.exit(INTERRUPTED);
    console.error(`reglue: ${error instanceof ReglueError ? error.message : String(error)}`);
    process.exit(error instanceof UsageError || error instanceof Refused ? 2 : 1);
  }
}
