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

/** What slots play from a start on; by default what they played before. */
export interface GoalOptions {
  /** One of `tasks()`; by default the task that each slot plays already. */
  readonly task?: string | undefined;
  /** The variant of the task, counted from 0; 0 by default, if a task is named. */
  readonly variant?: number | undefined;
}
