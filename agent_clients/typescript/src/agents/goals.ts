/** The goals that an agent has seen, slot by slot. */
import type { Turn } from "./calls.js";
import { UsageError } from "../errors.js";
import { type Arrays, elementsType, Rows, type TaskSpec, type TensorSpec } from "../spec.js";

/** What an agent may ask of the goals that it has seen. */
export interface Goals {
  /** The newest in `slot`, by the names of its tensors: copies, of one row each. Throws UsageError. */
  of(slot: number): Arrays;
}

/** The newest rows of the tensors that are goals, by slot. */
export class SeenGoals implements Goals {
  readonly #newest: Readonly<Record<string, Rows>>; // a row for each slot
  readonly #isSeen: Uint8Array;

  constructor(tensors: readonly TensorSpec[], slots: number) {
    const newest = Object.create(null) as Record<string, Rows>; // a tensor may have any name
    for (const { name, dtype, size, shape } of tensors) {
      newest[name] = new Rows(new (elementsType(dtype))(slots * size), slots, shape);
    }
    this.#newest = newest;
    this.#isSeen = new Uint8Array(slots);
  }

  /** Copy the turn's rows; where a slot ends and starts, the start's. */
  see({ ends, steps, starts, observations }: Turn): void {
    let row = 0;
    for (const { slots } of [ends, steps, starts]) {
      for (const slot of slots) {
        for (const name in this.#newest) {
          this.#newest[name]!.row(slot).set(observations[name]!.row(row) as never); // its dtype's
        }
        this.#isSeen[slot] = 1;
        row++;
      }
    }
  }

  of(slot: number): Arrays {
    const isSeen = this.#isSeen[slot];
    if (isSeen === undefined) {
      throw new UsageError(`got slot ${slot}, wanted 0 to ${this.#isSeen.length - 1}`);
    }
    if (!isSeen) {
      throw new UsageError(`nothing was seen in slot ${slot} yet; wait for its agentStart`);
    }
    const goal = Object.create(null) as Record<string, Rows>;
    for (const name in this.#newest) {
      const newest = this.#newest[name]!;
      goal[name] = new Rows(newest.row(slot).slice(), 1, newest.shape);
    }
    return goal;
  }
}

/** The goals of a task; undefined if it shows none. */
export function goalsOf({ observations, slots }: TaskSpec): SeenGoals | undefined {
  const tensors = observations.filter(({ name }) => isGoal(name));
  return tensors.length > 0 ? new SeenGoals(tensors, slots) : undefined;
}

/** The parts of a goal follow a slash. */
function isGoal(name: string): boolean {
  return name.split("/").some((part) => part.endsWith("desired_goal"));
}
