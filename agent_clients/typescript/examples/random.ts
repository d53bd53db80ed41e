/**
 * Acts at random: the floor that every agent should beat. Each episode draws from its start seed
 * alone, so that its actions are the same in whatever slot or process it is played.
 *
 *     reglue bench MT1:reach-v3 --agent-cmd "node PROGRAM"
 */
import { type AgentEpisode, EpisodeAgent, main, Rng, type TensorSpec } from "reglue";

class RandomAgent extends EpisodeAgent {
  override get adapts(): boolean {
    return true; // it learns nothing, but meta-learning benchmarks may judge it
  }

  override newEpisode(seed: bigint): AgentEpisode {
    const rng = new Rng(seed);
    const act = (): Record<string, number[]> =>
      Object.fromEntries(this.spec.actions.map((tensor) => [tensor.name, sample(tensor, rng)]));
    return { start: act, step: act };
  }
}

function sample(tensor: TensorSpec, rng: Rng): number[] {
  return Array.from({ length: tensor.size }, (_, element) => draw(tensor, element, rng));
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
