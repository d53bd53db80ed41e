/** Whole programs: their last words and exit codes. */
import { Refused, ReglueError, RoutineRefused, UsageError } from "./errors.js";
import { PeerFailed } from "./net/session.js";

/** A session's options, as a whole program has them. */
export type MainOptions<Options> = Omit<Options, "signal"> & {
  /** Whether SIGINT and SIGTERM end the program, after telling the glue; true by default. */
  readonly handleSignals?: boolean | undefined;
};

/** Exit codes, as a shell says of a program that the signal ended. */
const INTERRUPTED = { SIGINT: 130, SIGTERM: 143 };
type Signal = keyof typeof INTERRUPTED;

/**
 * Run, and leave the process with 0; print what `run` returns.
 *
 * If it throws the code is 2 for wrong usage or if the glue refused, 130 after SIGINT and 143 after
 * SIGTERM, which abort the signal unless `handlesSignals` is false, otherwise 1. The second one ends
 * the process at once, also as the first process of a container.
 */
export async function runProgram(
  run: (signal: AbortSignal) => Promise<string | undefined>,
  handlesSignals = true,
): Promise<never> {
  const interruption = new AbortController();
  let received: Signal | undefined;
  for (const signal of handlesSignals ? (Object.keys(INTERRUPTED) as Signal[]) : []) {
    process.on(signal, () => {
      if (received !== undefined) process.exit(INTERRUPTED[signal]);
      received = signal;
      interruption.abort();
    });
  }
  try {
    const farewell = await run(interruption.signal);
    if (farewell !== undefined) console.error(`reglue: ${farewell}`);
    process.exit(0);
  } catch (error) {
    if (received !== undefined) {
      console.error("reglue: interrupted");
      process.exit(INTERRUPTED[received]);
    }
    if (!(error instanceof PeerFailed)) console.error(`reglue: ${words(error)}`); // it is logged already
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
