/** What the glue says to an environment, and what the environment answers. */
import type { Answer } from "../conforming.js";
import type { Phase } from "../phase.js";
import type { Arrays } from "../spec.js";

/** A task that can be played. */
export interface Task {
  /** Unique among the environment's tasks. */
  readonly name: string;
  /** Goals or configurations; at least 1. */
  readonly variants: number;
}

/**
 * The episode to play. The cell and the actions decide every bit of it, whatever was played before
 * and in whichever slot: all random numbers follow from `seed` and `repeat`.
 */
export interface Cell {
  readonly task: string;
  /** Which goal or configuration of the task, from 0. */
  readonly variant: number;
  /** 0 to 2⁶³ - 1. */
  readonly seed: bigint;
  /** Tells repetitions apart. */
  readonly repeat: bigint;
  /** Evaluate: the episode ends at its first success. */
  readonly phase: Phase;
  /** Of the run, before this episode; 0 if runs are not counted in steps. */
  readonly steps: bigint;
}

/** Episodes that begin: slots and, for each, its cell. */
export interface Cells {
  readonly slots: Uint32Array;
  readonly cells: readonly Cell[];
}

/** Slots whose environment failed, and what happened: their episodes are void. */
export type Faults = ReadonlyMap<number, string>;

/** What `envStart` returns: rows in the order of its slots. */
export interface Begun {
  readonly observations: Answer;
  readonly faults?: Faults;
}

/** A flag for all rows, or one for each. */
export type Flags = boolean | readonly boolean[] | Uint8Array;

/** What `envStep` returns: rows in the order of its slots. */
export interface Earned extends Begun {
  /** Of the actions, task units, unclipped, finite. */
  readonly rewards: readonly number[] | Float32Array | Float64Array;
  /** The task ended; false by default. */
  readonly terminated?: Flags;
  /** Time ran out; false by default. */
  readonly truncated?: Flags;
  /** The task's success flag, which agents do not see; false by default. */
  readonly success?: Flags;
}

/** One exchange over many episodes: steps, then starts. */
export interface Play {
  readonly slots: Uint32Array;
  /** One row for each of `slots`; no tensors if nothing steps. */
  readonly actions: Arrays;
  readonly starts: Cells;
}

/** The answer to a Play. */
export interface Played {
  readonly rewards: Float64Array;
  /** The bytes of each observation tensor: rows of steps, then of starts. */
  readonly observations: readonly Uint8Array[];
  /** Bits of a row: 1 terminated, 2 truncated, 4 success. */
  readonly flags: Uint8Array;
  readonly faults: Faults;
}
