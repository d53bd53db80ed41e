/** What a benchmark program may choose: how it connects, and what is played. */
import type { ConnectOptions } from "../net/options.js";

/** How a benchmark program connects. */
export interface ExperimentOptions extends ConnectOptions {
  /** Seconds that a routine may take, including RL_init's wait for agent and environment; 24 hours by default. */
  readonly timeoutS?: number | undefined;
}

/** What RL_init plays. */
export interface InitOptions {
  /** How many episodes at once; 1 by default. */
  readonly slots?: number;
  /** All random numbers follow from it, 0 to 2⁶³ - 1; 0 by default. */
  readonly seed?: number | bigint;
  /** The environment's first task by default. */
  readonly task?: string;
  /** The variant of the task, counted from 0; 0 by default. */
  readonly variant?: number;
}

/**
 * Where a start begins episodes, and what the slots play from then on; by default what they played
 * before. The agent does not learn of tasks and variants, and keeps what it knows; a freeze goes on.
 */
export interface StartOptions {
  /** All by default. No episode may be in play there if a task or a variant is named. */
  readonly slots?: readonly number[] | undefined;
  /** One of `tasks()`; by default the task that each slot plays already. */
  readonly task?: string | undefined;
  /** The variant of the task, counted from 0; 0 by default, if a task is named. */
  readonly variant?: number | undefined;
}

/** A start, and how long its episodes are at most. */
export interface EpisodeOptions extends StartOptions {
  /** The start counts as the first; 0, the default, means no limit. */
  readonly maxSteps?: number | bigint | undefined;
}
