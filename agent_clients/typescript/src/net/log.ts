/** Lines for the author on stderr: what happens to a session, and a trace of its calls. */
import { BadAnswer, NotAnEnvironment, UsageError } from "../errors.js";
import { printable } from "../words.js";

/** How much a line matters; REGLUE_LOG names the least that is shown. */
export type LogLevel = "error" | "warning" | "info";

/** Says something to the author. */
export type Log = (level: LogLevel, words: string) => void;

const LEVELS: readonly string[] = ["error", "warning", "info"] satisfies LogLevel[];

/**
 * Says what REGLUE_LOG lets through, by default errors and warnings, to `sink`, by default stderr.
 *
 * Throws UsageError for another REGLUE_LOG.
 */
export function openLog(sink: (words: string, level: LogLevel) => void = toStderr): Log {
  const shown = process.env["REGLUE_LOG"] || "warning";
  const most = LEVELS.indexOf(shown);
  if (most < 0) throw new UsageError(`got REGLUE_LOG=${shown}, wanted ${LEVELS.join(", ")}`);
  return (level, words) => {
    if (LEVELS.indexOf(level) <= most) sink(printable(words), level);
  };
}

function toStderr(words: string, level: LogLevel): void {
  console.error(`${new Date().toISOString()} reglue ${level}: ${words}`);
}

/** Tells the author what happens to a session's connection: each change once, however often a stream is tried. */
export class ConnectionLog {
  #isLost = false;

  constructor(
    private readonly name: string,
    private readonly log: Log,
  ) {}

  /** A stream broke; new ones are tried for that long. */
  lost(why: string, mostMs: number): void {
    if (this.#isLost) return;
    this.#isLost = true;
    const words = `the connection to the glue is lost, reconnecting for up to ${mostMs / 1000} s`;
    this.log("warning", `${words}: ${why}`);
  }

  /** The glue admitted a stream. */
  admitted(): void {
    if (this.#isLost) this.log("warning", "the connection to the glue is back");
    else this.log("info", `joined as ${this.name}`);
    this.#isLost = false;
  }
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
