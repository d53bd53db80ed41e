/**
 * Every error that this library raises, on one page.
 *
 * The branch says whose fault it is: the caller's or the agent's author's (UsageError), a refused
 * peer's (Refused), or the connection's (Unreachable, SessionLost).
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

/** A request that cannot be carried out; nothing changed. */
export class UsageError extends ReglueError {}

/** A TaskSpec or TensorSpec that is malformed or contradicts itself. */
export class SpecError extends UsageError {}

/** An agent lacks a routine, or answers something that is no action of its task. */
export class NotAnAgent extends UsageError {}

/** An answer whose numbers do not fit its task's actions. */
export class BadAnswer extends NotAnAgent {
  constructor(
    what: string,
    readonly got: string,
    readonly wanted: string,
  ) {
    super(`${what}: got ${got}, wanted ${wanted}`);
  }
}

/** The glue refused the agent. */
export class Refused extends ReglueError {}

/** The token is wrong. */
export class WrongToken extends Refused {}

/** The two sides speak different protocol versions. */
export class WrongVersion extends Refused {}

/** Only one side uses TLS, or the agent does not trust the glue's certificate. */
export class WrongTls extends Refused {}

/** The run has its agent already, or the glue takes nobody now. */
export class Busy extends Refused {}

/** No glue answered at the address in time. */
export class Unreachable extends ReglueError {}

/** The glue went away in mid-session, or sent what this version cannot read. */
export class SessionLost extends ReglueError {}

/** A call that does not fit its session; authors see it only as a SessionLost's cause. */
export class BadCall extends ReglueError {
  constructor(
    readonly got: string,
    readonly wanted: string,
  ) {
    super(`got ${got}, wanted ${wanted}`);
  }
}
