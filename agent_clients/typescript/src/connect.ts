/** Connects an agent to a glue: from a program, or as a program. */
import { endianness } from "node:os";

import { type Agent, checkAgent } from "./agent.js";
import { Refused, ReglueError, UsageError } from "./errors.js";
import { type Given, joinString } from "./net/join_string.js";
import { type Transport, TRANSPORTS } from "./net/route.js";
import { playSession } from "./session.js";
import { printable } from "./words.js";

/** All that an agent may say of how it comes in. */
export interface ConnectOptions extends Given {
  /** What it calls itself, for people; its class's name if it says nothing. */
  readonly name?: string | undefined;
  /** How long to wait for a glue that is not up yet, or is gone, seconds; 60 if not said. */
  readonly patienceS?: number | undefined;
  /** `unix` wants a Unix socket, `grpc` none; `auto` takes it where it can be opened. */
  readonly transport?: Transport | undefined;
  /**
   * Aborting it interrupts the session: the glue is told, and its reason is thrown. A routine that
   * awaits something is not waited for.
   */
  readonly signal?: AbortSignal | undefined;
  /** Where words for the author go: refusals, lost connections; stderr if not said. */
  readonly log?: ((words: string) => void) | undefined;
}

/**
 * Play a session at the glue until it says farewell; its words.
 *
 * `address` is `host:port` or a join string, which holds the token and whom to trust as well; they
 * default to REGLUE_ADDRESS and REGLUE_TOKEN of the environment. With an authority (`ca`) the
 * connection is made with TLS, and never without it. A connection that breaks is made again, as
 * long as the glue allows and at most `patienceS`, and every call is carried out once.
 *
 * Throws NotAnAgent (a routine is missing), Unreachable, Refused (wrong token, wrong version,
 * WrongTls, busy), SessionLost (the glue went away), UsageError (no address, no such transport
 * here), and whatever the agent itself throws, after telling the glue.
 */
export async function connect(agent: Agent, options: ConnectOptions = {}): Promise<string> {
  if (endianness() !== "LE") throw new UsageError("this client needs a little-endian machine");
  checkAgent(agent);
  options.signal?.throwIfAborted();
  const { transport = "auto", patienceS = 60 } = options;
  if (!TRANSPORTS.includes(transport)) {
    throw new UsageError(`got transport ${transport}, wanted ${TRANSPORTS.join(", ")}`);
  }
  if (!(patienceS >= 0)) throw new UsageError(`got patience ${patienceS} s, wanted 0 or more`);
  const log = options.log ?? ((words: string) => console.error(`reglue: ${words}`));
  return playSession(agent, joinString(options), {
    name: options.name ?? agent.constructor.name,
    patienceMs: 1000 * patienceS,
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
