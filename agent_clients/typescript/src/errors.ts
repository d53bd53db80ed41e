/**
 * Every error that this library raises, on one page.
 *
 * Whose fault it is decides the branch: the caller's or the agent's author's (UsageError), the
 * door's answer (Refused), or the connection's (Unreachable, SessionLost).
 */
import { printable } from "./words.js";

/** Root of the tree. What it says may hold a glue's own words. */
export class ReglueError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(printable(message), options);
  }

  override get name(): string {
    return this.constructor.name;
  }
}

/** Something was asked for that cannot be done; nothing was changed. */
export class UsageError extends ReglueError {}

/** A TaskSpec or TensorSpec that is malformed or contradicts itself. */
export class SpecError extends UsageError {}

/** What should be an agent lacks a routine, or answers what no action of its task is. */
export class NotAnAgent extends UsageError {}

/** An answer of other numbers, or of more or fewer, than its task's actions are made of. */
export class BadAnswer extends NotAnAgent {
  constructor(
    what: string,
    readonly got: string,
    readonly wanted: string,
  ) {
    super(`${what}: got ${got}, wanted ${wanted}`);
  }
}

/** The glue did not let the agent in. */
export class Refused extends ReglueError {}

/** The token is not the one that the host handed out. */
export class WrongToken extends Refused {}

/** The two sides speak different protocol versions. */
export class WrongVersion extends Refused {}

/** Only one side speaks TLS, or the glue's certificate is none that the agent trusts. */
export class WrongTls extends Refused {}

/** The run has its agent already, or no connection to spare. */
export class Busy extends Refused {}

/** No glue answered at the address in time. */
export class Unreachable extends ReglueError {}

/** The glue went away in mid-session, or said what nobody of this version can understand. */
export class SessionLost extends ReglueError {}

/** A call that does not fit its session: never thrown to authors but as a SessionLost's cause. */
export class BadCall extends ReglueError {
  constructor(
    readonly got: string,
    readonly wanted: string,
  ) {
    super(`got ${got}, wanted ${wanted}`);
  }
}
