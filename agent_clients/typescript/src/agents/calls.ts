/** What the glue says to an agent, and what the agent answers. Every array has one row a slot. */
import type { Answer } from "../conforming.js";
import type { Phase } from "../phase.js";
import type { Arrays, Elements, TaskSpec } from "../spec.js";

/** How an episode ended; numbered as on the wire. */
export enum EndKind {
  /** The task ended: do not bootstrap. */
  Terminated = 1,
  /** Time ran out: bootstrap from the last observation. */
  Truncated = 2,
  /** The environment failed: the episode does not count. */
  Void = 3,
}

/** Bits: what the glue did with the action before. */
export enum ActionFlag {
  /** No action came in time; a default was played. */
  Defaulted = 1,
  /** The action was outside its bounds. */
  Clipped = 2,
}

/** Episodes that ended: slots and, for each, its EndKind. */
export interface Ends {
  readonly slots: Uint32Array;
  readonly kinds: Uint8Array;
}

/** Episodes that continue: slots and, for each, its ActionFlag bits. */
export interface Steps {
  readonly slots: Uint32Array;
  readonly flags: Uint8Array;
}

/** Episodes that begin: slots and, for each, a seed for the agent's random numbers. */
export interface Starts {
  readonly slots: Uint32Array;
  readonly seeds: BigUint64Array;
}

/** One exchange over many episodes; rows are ends, then steps, then starts. */
export interface Turn {
  readonly phase: Phase;
  readonly ends: Ends;
  readonly steps: Steps;
  readonly starts: Starts;
  /** Of the actions before, of ends, then steps; NaN where the spec withholds them. */
  readonly rewards: Float64Array;
  readonly observations: Arrays;
}

/** Actions as an author returns them: rows of the only action tensor, or rows by name. */
export type Chosen = Answer;

/** An answer to a whole turn, rows of steps, then of starts, which can also abandon episodes. */
export class Actions {
  constructor(
    readonly actions: Chosen,
    /** Slots whose episode the agent abandons. Their rows are present but ignored. */
    readonly abandon: readonly number[] = [],
  ) {}
}

/** Time left, microseconds; undefined is no limit. */
export interface Budget {
  readonly stepUs: bigint | undefined;
  readonly bankUs: bigint | undefined;
  readonly adaptUs: bigint | undefined;
  readonly runUs: bigint | undefined;
}

/** A budget without limits. */
export const UNLIMITED: Budget = {
  stepUs: undefined,
  bankUs: undefined,
  adaptUs: undefined,
  runUs: undefined,
};

/** What the glue says. */
export type Call =
  | { readonly kind: "init"; readonly spec: TaskSpec }
  | { readonly kind: "turn"; readonly turn: Turn }
  | { readonly kind: "freeze" | "adaptBegin" | "adapt" | "cleanup" }
  | { readonly kind: "message"; readonly text: string };

/** What the agent answers; actions are elements of each action tensor, in the spec's order. */
export type Reply =
  | {
      readonly kind: "actions";
      readonly actions: readonly Elements[];
      readonly abandon: readonly number[];
    }
  | { readonly kind: "done" }
  | { readonly kind: "message"; readonly text: string };
