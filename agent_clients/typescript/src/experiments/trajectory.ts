/** RL_episode of 1.0: one slot's episode, step by step. */
import { type Arrays, elementsType, Rows, type TaskSpec, type TensorSpec } from "../spec.js";
import type { Started, Stepped, Trajectory } from "./results.js";

/** The routines that play one slot, and its task, which is known once the first has returned. */
interface Player {
  start(): Promise<Started>;
  step(): Promise<Stepped>;
  spec(): TaskSpec;
}

/** Plays one episode of at most `maxSteps` steps. Throws what the routines throw. */
export async function playTrajectory(maxSteps: bigint, player: Player): Promise<Trajectory> {
  const started = await player.start();
  const rows: { observations: Arrays; actions: Arrays }[] = [started];
  const rewards: number[] = [];
  let [terminated, truncated] = [false, false];
  while (!terminated && !truncated && rewards.length < maxSteps) {
    const stepped = await player.step();
    rewards.push(stepped.rewards[0]!);
    [terminated, truncated] = [stepped.terminated[0]!, stepped.truncated[0]!];
    if (!terminated && !truncated) rows.push(stepped);
  }
  const spec = player.spec();
  return {
    observations: concatenated(
      spec.observations,
      rows.map(({ observations }) => observations),
    ),
    actions: concatenated(
      spec.actions,
      rows.map(({ actions }) => actions),
    ),
    rewards: Float64Array.from(rewards),
    terminated,
    truncated,
  };
}

/** One array a tensor, from parts that have one row each. */
function concatenated(tensors: readonly TensorSpec[], parts: readonly Arrays[]): Arrays {
  const arrays = Object.create(null) as Record<string, Rows>; // a tensor may have any name
  for (const { name, dtype, size, shape } of tensors) {
    const rows = new Rows(new (elementsType(dtype))(parts.length * size), parts.length, shape);
    parts.forEach((part, row) => rows.row(row).set(part[name]!.data as never)); // its dtype's
    arrays[name] = rows;
  }
  return arrays;
}
