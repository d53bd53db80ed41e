/** What RL-Glue's routines return to a benchmark program. Every array has one row a slot. */
import type { Arrays } from "../spec.js";

/** First observations, and the actions that the agent chose. */
export interface Started {
  readonly slots: Uint32Array;
  readonly observations: Arrays;
  /** No tensors after `envStart`. */
  readonly actions: Arrays;
}

/** What a step earned. */
export interface Stepped {
  readonly slots: Uint32Array;
  /** Task units. */
  readonly rewards: Float64Array;
  readonly observations: Arrays;
  /** The task ended. */
  readonly terminated: readonly boolean[];
  /** Time ran out. */
  readonly truncated: readonly boolean[];
  /** The task counts this step as a success. */
  readonly success: readonly boolean[];
  /** Zeros where the episode is over; no tensors after `envStep`. */
  readonly actions: Arrays;
}

/**
 * An episode as RL-Glue 1.0's RL_episode returns it: o0, a0, r1, o1, a1, …, rT, without the terminal
 * observation. An episode that was cut off ends with the observation and action after the last
 * reward.
 */
export interface Trajectory {
  /** Rows o0, o1, …: T of them if it ended, else T + 1. */
  readonly observations: Arrays;
  /** Likewise. */
  readonly actions: Arrays;
  /** r1, …, rT, task units. */
  readonly rewards: Float64Array;
  readonly terminated: boolean;
  readonly truncated: boolean;
}
