/** A benchmark program's calls of routines, one after another. */
import { BadCall, SpecError } from "../errors.js";
import type { ExperimentReply } from "../gen/reglue/v1/experiment_pb.js";
import type { ExperimentSession } from "../net/experiment_session.js";
import type { Call } from "../wire/experiment.js";
import { errorOf } from "./errors.js";

/** The kinds of replies. */
export type ReplyCase = ExperimentReply["reply"]["case"] & string;

/** The reply of that kind. */
type Reply<Case> =
  Extract<ExperimentReply["reply"], { case: Case }> extends { value: infer Value } ? Value : never;

const CLOSING_MS = 5000; // for calls that are under way when the program leaves

/** Sends calls in their order, each when the one before is over. */
export class RoutineCalls {
  #last: Promise<unknown> = Promise.resolve();

  constructor(private readonly session: ExperimentSession) {}

  /** The reply to `call`, or to the call that a function makes when its turn comes, as `exchange`. */
  request<Case extends ReplyCase, Value>(
    call: Call | (() => Call),
    expected: Case,
    read: (value: Reply<Case>) => Value,
  ): Promise<Value> {
    return this.after(() =>
      this.exchange(typeof call === "function" ? call() : call, expected, read),
    );
  }

  /** Runs `act` when the calls before are over. */
  after<Value>(act: () => Promise<Value>): Promise<Value> {
    const result = this.#last.then(act);
    this.#last = result.catch(() => {}); // the caller that awaits the result gets the error
    return result;
  }

  /** Sends `call` now; returns what `read` makes of the reply. Throws what the routine throws. */
  async exchange<Case extends ReplyCase, Value>(
    call: Call,
    expected: Case,
    read: (value: Reply<Case>) => Value,
  ): Promise<Value> {
    const { reply } = await this.session.exchange(call);
    const error = errorOf(reply);
    if (error !== undefined) throw error;
    try {
      if (reply.case !== expected) throw new BadCall(`an answer of kind ${reply.case}`, expected);
      return read(reply.value as Reply<Case>);
    } catch (unreadable) {
      if (!(unreadable instanceof BadCall || unreadable instanceof SpecError)) throw unreadable;
      throw this.session.lose(unreadable);
    }
  }

  /** Leaves when the calls before are over, or throws SessionLost in those that take longer than 5 s. */
  async close(): Promise<void> {
    const timer = setTimeout(() => this.session.giveUp(), CLOSING_MS);
    await this.after(() => this.session.leave());
    clearTimeout(timer);
  }
}
