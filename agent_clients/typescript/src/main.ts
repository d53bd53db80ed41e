/** A whole program of one agent. */
import type { Agent } from "./agent.js";
import { connect, type ConnectOptions } from "./connect.js";
import { Refused, ReglueError, UsageError } from "./errors.js";

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
