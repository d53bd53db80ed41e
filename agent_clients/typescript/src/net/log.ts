/** Lines for the author on stderr: what happens to a session, and a trace of its calls. */
import { BadAnswer, NotAnEnvironment, UsageError } from "../errors.js";
import { printable } from "../text.js";

/** How much a line matters; REGLUE_LOG names the lowest level that is written. */
export type LogLevel = "error" | "warning" | "info";

/** Says something to the author. */
export type Log = (level: LogLevel, words: string) => void;

const LEVELS: readonly string[] = ["error", "warning", "info"] satisfies LogLevel[];

/**
 * Says what REGLUE_LOG lets through, by default errors and warnings, to `sink`, by default stderr.
 *
 * Throws UsageError for another REGLUE_LOG, and for a REGLUE_TRACE that is neither 0 nor 1.
 */
export function openLog(sink: (words: string, level: LogLevel) => void = toStderr): Log {
  const minimum = process.env["REGLUE_LOG"] || "warning";
  const most = LEVELS.indexOf(minimum);
  if (most < 0) throw new UsageError(`got REGLUE_LOG=${minimum}, wanted error, warning or info`);
  const traced = process.env["REGLUE_TRACE"] || "0";
  if (!["0", "1"].includes(traced)) {
    throw new UsageError(`got REGLUE_TRACE=${traced}, wanted 1 or 0`);
  }
  return (level, words) => {
    if (LEVELS.indexOf(level) > most) return;
    const line = printable(words);
    // A sink that throws, or returns a promise that rejects, fails no session.
    new Promise<void>((resolve) => resolve(sink(line, level))).catch((error: unknown) => {
      toStderr(line, level);
      toStderr(`the log option failed: ${printable(failure(error).where)}`, "error");
    });
  };
}

function toStderr(words: string, level: LogLevel): void {
  console.error(`${new Date().toISOString()} reglue ${level}: ${words}`);
}

/** What the author's code threw: in words, and with the lines of code that it came from. */
export function failure(error: unknown): { readonly what: string; readonly where: string } {
  const what = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  const isOfAnswer = error instanceof BadAnswer || error instanceof NotAnEnvironment; // no line threw it
  return { what, where: (!isOfAnswer && error instanceof Error && error.stack) || what };
}

/** What became of a call. */
export interface Exchange {
  /** As the protocol's code has it, such as adaptBegin; the line has the protocol's adapt_begin. */
  readonly call: string;
  readonly bytes: number;
  /** None: the call is not answered. */
  readonly answerBytes: number | undefined;
  readonly tookMs: number;
}

/** With REGLUE_TRACE=1, a line on stderr for the call. */
export function trace({ call, bytes, answerBytes, tookMs }: Exchange): void {
  if (process.env["REGLUE_TRACE"] !== "1") return;
  const name = call.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  const answer =
    answerBytes === undefined
      ? "not answered"
      : `answered by ${answerBytes} bytes in ${tookMs.toFixed(2)} ms`;
  console.error(`${new Date().toISOString()} reglue call ${name} ${bytes} bytes, ${answer}`);
}
