/** The environment's side of RL-Glue, over slots. */
import type { Awaitable } from "../conforming.js";
import { NotAnEnvironment, NotSupported, UsageError } from "../errors.js";
import type { Arrays, TaskDescription, TaskSpec } from "../spec.js";
import type { Begun, Cells, Earned, Task } from "./calls.js";

/** For the session alone: to everybody else an environment's `spec` is readonly. */
export let tellSpec: (environment: Environment, spec: TaskSpec) => void;

/**
 * Derive from it and write `envInit`, `envStart` and `envStep`, and the optional routines that it
 * has.
 *
 * Actions are named tensors with one row a slot, views of the received message. Observations are
 * returned as rows of the only observation tensor, or as an object of such rows by name; numbers
 * are cast to the spec's dtypes, and an integer that does not fit is an error.
 *
 * If `envStart` or `envStep` throws, all slots of the exchange have failed. If another routine throws
 * a RoutineRefused (OutOfOrder, UnknownKey, NotSupported, OutOfDomain), the glue refuses the
 * call, and nothing must have changed; any other error ends the session.
 */
export abstract class Environment {
  #spec: TaskSpec | undefined;

  static {
    tellSpec = (environment, spec) => (environment.#spec = spec);
  }

  /** What `envInit` described, with the slots that are played. Throws UsageError before. */
  get spec(): TaskSpec {
    if (this.#spec === undefined) throw new UsageError("there is no task before envInit()");
    return this.#spec;
  }

  /** Most slots that it plays at once; 0 means any number. */
  get maxSlots(): number {
    return 0;
  }

  /** At least one; RL_start plays the first unless the program asks for another. */
  get tasks(): readonly Task[] {
    return [{ name: "task", variants: 1 }];
  }

  /** True if another process of this environment can set a state from this one. */
  get portable(): boolean {
    return false;
  }

  /** False if its episodes never report success: the score is then the mean return. */
  get tellsSuccess(): boolean {
    return true;
  }

  /** True if a step may move every slot, and not those alone that it names. */
  get wholeTurns(): boolean {
    return false;
  }

  /** False if its cells do not decide its episodes. */
  get repeatable(): boolean {
    return true;
  }

  /** True if states can be saved and restored. */
  get restores(): boolean {
    return this.envGetState !== Environment.prototype.envGetState;
  }

  /** True if random states can be saved and restored. */
  get seeds(): boolean {
    return this.envGetRandomSeed !== Environment.prototype.envGetRandomSeed;
  }

  /** True if it has `envStandardizeRandomness`. */
  get standardizes(): boolean {
    return this.envStandardizeRandomness !== Environment.prototype.envStandardizeRandomness;
  }

  /** Begin anew, with no episode in any slot, and with the cells' own seeds; returns the task. */
  abstract envInit(slots: number): Awaitable<TaskDescription>;

  /** Begin an episode in each slot; an episode in play there ends. */
  abstract envStart(starts: Cells): Awaitable<Begun>;

  /** Take one step in each of `slots`. Clip actions that are outside a box. */
  abstract envStep(actions: Arrays, slots: Uint32Array): Awaitable<Earned>;

  /** The slot's whole state, with its generators; opaque to others. Throws OutOfOrder without an episode. */
  envGetState(slot: number): Awaitable<Uint8Array> {
    throw new NotSupported("env_get_state", "an environment that saves states");
  }

  /** Continue from `state`, to the bit. Throws UnknownKey for bytes that this environment did not give. */
  envSetState(slot: number, state: Uint8Array): Awaitable<void> {
    throw new NotSupported("env_set_state", "an environment that saves states");
  }

  /** The state of the slot's generators alone. Throws OutOfOrder without an episode. */
  envGetRandomSeed(slot: number): Awaitable<Uint8Array> {
    throw new NotSupported("env_get_random_seed", "an environment that saves its random state");
  }

  /** Set the state of the slot's generators. Throws UnknownKey, OutOfOrder. */
  envSetRandomSeed(slot: number, seed: Uint8Array): Awaitable<void> {
    throw new NotSupported("env_set_random_seed", "an environment that saves its random state");
  }

  /** From now on the n-th start (n = 0, 1, …) draws from `new Rng(seed, n)`. */
  envStandardizeRandomness(seed: bigint): Awaitable<void> {
    throw new NotSupported("env_standardize_randomness", "an environment that standardizes");
  }

  /** Answer a message from the benchmark. */
  envMessage(message: string): Awaitable<string> {
    return "";
  }

  /** Release what `envInit` took. */
  envCleanup(): Awaitable<void> {}
}

/** Throws NotAnEnvironment, naming the routine, if `environment` cannot be played. */
export function checkEnvironment(environment: Environment): void {
  for (const name of ["envInit", "envStart", "envStep"] as const) {
    if (typeof environment[name] !== "function") {
      const lacking = `${environment.constructor.name} lacks ${name}()`;
      throw new NotAnEnvironment(`${lacking}; write envInit(), envStart() and envStep()`);
    }
  }
}
