/**
 * A slippery corridor: walk to its right end, one cell a step; one step in ten slips the other way.
 *
 *     reglue bench online:wait --agent q_learning      # says how an environment joins
 *     REGLUE_ADDRESS=… node dist/examples/corridor.js
 */
import {
  type Arrays,
  type Begun,
  type Cells,
  type Earned,
  Environment,
  main,
  OutOfOrder,
  Rng,
  type TaskDescription,
  TensorSpec,
  UnknownKey,
} from "reglue";

const LENGTH = 8; // cells
const MOST_STEPS = 100;
const STATE_BYTES = 2; // before the state of the generator

/** One slot's episode. */
interface Walk {
  cell: number;
  steps: number;
  rng: Rng;
}

class Corridor extends Environment {
  #walks = new Map<number, Walk>(); // by slot
  #standard: { readonly seed: bigint; starts: bigint } | undefined;

  override envInit(): TaskDescription {
    this.#walks.clear();
    this.#standard = undefined;
    return {
      observations: [new TensorSpec("cell", "int64", [], { kind: "discrete", n: LENGTH })],
      actions: [new TensorSpec("direction", "int64", [], { kind: "discrete", n: 2 })], // left, right
      rewardLow: -1,
      rewardHigh: -1,
      horizon: MOST_STEPS,
    };
  }

  override envStart({ slots, cells }: Cells): Begun {
    slots.forEach((slot, row) => {
      const { seed, repeat } = cells[row]!;
      this.#walks.set(slot, { cell: 0, steps: 0, rng: this.#rng(seed, repeat) });
    });
    return { observations: this.#cells(slots) };
  }

  override envStep(actions: Arrays, slots: Uint32Array): Earned {
    const directions = actions["direction"]!.data;
    slots.forEach((slot, row) => {
      const walk = this.#on(slot, "env_step");
      const slips = walk.rng.below(10) === 0;
      const goesRight = (directions[row] === 1n) !== slips;
      walk.cell = Math.min(Math.max(walk.cell + (goesRight ? 1 : -1), 0), LENGTH - 1);
      walk.steps++;
    });
    const walks = Array.from(slots, (slot) => this.#walks.get(slot)!);
    const isThere = walks.map(({ cell }) => cell === LENGTH - 1);
    return {
      rewards: walks.map(() => -1),
      observations: this.#cells(slots),
      terminated: isThere,
      truncated: walks.map(({ steps }, row) => steps >= MOST_STEPS && !isThere[row]),
      success: isThere,
    };
  }

  override envGetState(slot: number): Uint8Array {
    const { cell, steps, rng } = this.#on(slot, "env_get_state");
    return Uint8Array.of(cell, steps, ...rng.toBytes());
  }

  override envSetState(slot: number, state: Uint8Array): void {
    const [cell, steps] = state;
    if (cell === undefined || cell >= LENGTH || steps === undefined || steps > MOST_STEPS) {
      throw new UnknownKey(`${state.length} bytes`, "a state that this environment gave");
    }
    this.#walks.set(slot, { cell, steps, rng: restoredRng(state.subarray(STATE_BYTES)) });
  }

  override envGetRandomSeed(slot: number): Uint8Array {
    return this.#on(slot, "env_get_random_seed").rng.toBytes();
  }

  override envSetRandomSeed(slot: number, seed: Uint8Array): void {
    this.#on(slot, "env_set_random_seed").rng = restoredRng(seed);
  }

  override envStandardizeRandomness(seed: bigint): void {
    this.#standard = { seed, starts: 0n };
  }

  /** Of a cell; of the n-th start if randomness is standardized. */
  #rng(seed: bigint, repeat: bigint): Rng {
    const standard = this.#standard;
    return standard === undefined
      ? new Rng(seed, repeat)
      : new Rng(standard.seed, standard.starts++);
  }

  #on(slot: number, routine: string): Walk {
    const walk = this.#walks.get(slot);
    if (walk !== undefined) return walk;
    throw new OutOfOrder(`${routine} in slot ${slot}`, "env_start there first");
  }

  #cells(slots: Uint32Array): number[] {
    return Array.from(slots, (slot) => this.#walks.get(slot)!.cell);
  }
}

/** A generator's state. Throws UnknownKey. */
function restoredRng(bytes: Uint8Array): Rng {
  try {
    return Rng.fromBytes(bytes);
  } catch {
    throw new UnknownKey(`${bytes.length} bytes`, "a random seed that this environment gave");
  }
}

await main(new Corridor());
