/**
 * Acts at random: the floor that every agent should beat. Each episode draws from its start seed
 * alone, so that its actions are the same in whatever slot or process it is played.
 *
 *     reglue bench MT1:reach-v3 --agent-cmd "node dist/examples/random.js"
 */
import { Agent, type Arrays, Rng, main, type Starts, type Steps, type TensorSpec } from "reglue";

class RandomAgent extends Agent {
  #rngs = new Map<number, Rng>(); // by slot

  override agentStart(_observations: Arrays, { slots, seeds }: Starts): Record<string, number[]> {
    slots.forEach((slot, row) => this.#rngs.set(slot, new Rng(seeds[row]!)));
    return this.#act(slots);
  }

  override agentStep(
    _rewards: Float64Array,
    _observations: Arrays,
    { slots }: Steps,
  ): Record<string, number[]> {
    return this.#act(slots);
  }

  /** Rows of every action tensor, one a slot. */
  #act(slots: Uint32Array): Record<string, number[]> {
    const rows = Object.fromEntries(this.spec.actions.map(({ name }) => [name, [] as number[]]));
    for (const slot of slots) {
      const rng = this.#rngs.get(slot)!;
      for (const tensor of this.spec.actions) {
        for (let i = 0; i < tensor.size; i++) rows[tensor.name]!.push(draw(tensor, i, rng));
      }
    }
    return rows;
  }
}

function draw(tensor: TensorSpec, element: number, rng: Rng): number {
  const domain = tensor.domain;
  switch (domain.kind) {
    case "discrete":
      return Number(domain.start) + rng.below(Number(domain.n));
    case "multiDiscrete":
      return rng.below(Number(domain.n[element]!));
    case "multiBinary":
      return rng.below(2);
    case "box": {
      const [low, high] = [tensor.low()[element]!, tensor.high()[element]!];
      return rng.uniform(Math.max(low, -1), Math.min(high, 1));
    }
  }
}

await main(new RandomAgent());
