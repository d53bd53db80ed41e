/** Whole programs: their last words and exit codes. */
import { Refused, ReglueError, RoutineRefused, UsageError } from "./errors.js";
import { PeerFailed } from "./net/session.js";

const INTERRUPTED = 130; // as a shell says of a program that Ctrl-C ended

/**
 * Run, and leave the process with 0; what `run` returns is said at last.
 *
 * If it throws the code is 2 for wrong usage or if the glue refused, 130 after SIGINT or SIGTERM,
 * which abort the signal, otherwise 1. The second Ctrl-C ends the process at once.
 */
export async function runProgram(
  run: (signal: AbortSignal) => Promise<string | undefined>,
): Promise<never> {
  const interruption = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => interruption.abort());
  }
  try {
    const said = await run(interruption.signal);
    if (said !== undefined) console.error(`reglue: ${said}`);
    process.exit(0);
  } catch (error) {
    if (interruption.signal.aborted) process.exit(INTERRUPTED);
    if (!(error instanceof PeerFailed)) console.error(`reglue: ${words(error)}`); // the log said that
    process.exit(isUsage(error) || error instanceof Refused ? 2 : 1);
  }
}

function words(error: unknown): string {
  if (error instanceof ReglueError) return error.message;
  return (error instanceof Error && error.stack) || String(error);
}

/** A routine that the glue refuses while it plays is the program's own failure. */
function isUsage(error: unknown): boolean {
  return error instanceof UsageError && !(error instanceof RoutineRefused);
}
