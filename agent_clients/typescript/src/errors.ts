/**
 * Every error that this library raises, on one page.
 *
 * The branch says whose fault it is: the caller's or the author's (UsageError), the agent's or the
 * environment's as a benchmark program sees them (AgentFault, EnvironmentFault), a refused peer's
 * (Refused), or the connection's (Unreachable, SessionLost).
 */
import { printable } from "./text.js";

/** Root of the tree. Its message may contain text of the glue. */
export class ReglueError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(printable(message), options);
  }

  /** Its class's. */
  override get name(): string {
    return this.constructor.name;
  }
}

/** A request that cannot be carried out; nothing changed. */
export class UsageError extends ReglueError {}

/** An environment lacks a routine, or answers something that does not fit its task. */
export class NotAnEnvironment extends UsageError {}

/** An environment's answer whose numbers do not fit its task's observations. */
export class BadObservation extends NotAnEnvironment {
  constructor(
    what: string,
    readonly got: string,
    readonly wanted: string,
  ) {
    super(`${what}: got ${got}, wanted ${wanted}`);
  }
}

/**
 * A routine was refused; nothing changed. An environment throws one of its kinds, and a benchmark
 * program gets it.
 */
export class RoutineRefused extends UsageError {
  constructor(
    /** A name of the protocol's RefusalCode without its prefix, such as WRONG_SIZE. */
    readonly code: string,
    readonly got: string,
    readonly wanted: string,
  ) {
    super(`got ${got}, wanted ${wanted}`);
  }
}

/** A routine is not legal now; the message says what to call first. */
export class OutOfOrder extends RoutineRefused {
  constructor(got: string, wanted: string) {
    super("OUT_OF_ORDER", got, wanted);
  }
}

/** A key, state or random seed was not made by this glue or environment. */
export class UnknownKey extends RoutineRefused {
  constructor(got: string, wanted: string) {
    super("UNKNOWN_KEY", got, wanted);
  }
}

/** The environment lacks an optional routine. */
export class NotSupported extends RoutineRefused {
  constructor(got: string, wanted: string) {
    super("NOT_SUPPORTED", got, wanted);
  }
}

/** An argument is outside its domain, such as an unknown slot. */
export class OutOfDomain extends RoutineRefused {
  constructor(got: string, wanted: string) {
    super("OUT_OF_DOMAIN", got, wanted);
  }
}

/** The agent failed: the episodes of the routine's slots are over. */
export class AgentFault extends ReglueError {}

/** The environment failed: the episodes of the routine's slots are void. */
export class EnvironmentFault extends ReglueError {}

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

/** The glue refused the peer. */
export class Refused extends ReglueError {}

/** The token is wrong. */
export class WrongToken extends Refused {}

/** The two sides speak different protocol versions. */
export class WrongVersion extends Refused {}

/** Only one side uses TLS, or the peer does not trust the glue's certificate. */
export class WrongTls extends Refused {}

/** All places of the role are taken, or the glue takes nobody now. */
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
