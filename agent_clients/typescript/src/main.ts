/** A whole program of one agent. */
import type { Agent } from "./agent.js";
import { connect, type ConnectOptions } from "./connect.js";
import { Refused, ReglueError, UsageError } from "./errors.js";

const INTERRUPTED = 130; // as a shell says of a program that Ctrl-C ended

/**
 * Play a session as `connect`, and leave the process when it is over.
 *
 * Exit codes are those of `reglue join`: 0 farewell, 1 the agent failed or the glue went away,
 * 2 wrong usage or refused, 130 interrupted. The second Ctrl-C ends it at once.
 */
export async function main(agent: Agent, options: ConnectOptions = {}): Promise<never> {
  const interruption = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => interruption.abort());
  }
  try {
    const reason = await connect(agent, { signal: interruption.signal, ...options });
    console.error(`reglue: ${reason}`);
    process.exit(0);
  } catch (error) {
    if (interruption.signal.aborted) process.exit(INTERRUPTED);
    if (error instanceof ReglueError) console.error(`reglue: ${error.message}`);
    process.exit(error instanceof UsageError || error instanceof Refused ? 2 : 1);
  }
}
