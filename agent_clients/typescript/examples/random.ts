/**
 * Acts at random: the floor that every agent should beat. Each episode draws from its start seed
 * alone, so that its actions are the same in whatever slot or process it is played.
 *
 *     reglue bench MT1:reach-v3 --agent-cmd "node PROGRAM"
 *
 * Where an observation `action_mask` shows which actions are legal, it draws one of those.
 */
import { type AgentEpisode, type Arrays, EpisodeAgent, main, Rng, type TensorSpec } from "reglue";

const MASK = "action_mask";

class RandomAgent extends EpisodeAgent {
  override get adapts(): boolean {
    return true; // it learns nothing, but meta-learning benchmarks may judge it
  }

  override newEpisode(seed: bigint): AgentEpisode {
    const rng = new Rng(seed);
    const act = (seen: Arrays): Record<string, number[]> => {
      const legal = this.#isMasked()
        ? Array.from(seen[MASK]!.numbers(0), (each) => each !== 0)
        : [];
      return Object.fromEntries(
        this.spec.actions.map((tensor) => [tensor.name, sample(tensor, legal, rng)]),
      );
    };
    return { start: act, step: (_reward, seen) => act(seen) };
  }

  /** Whether an observation shows for each choice of the only action if it is legal. */
  #isMasked(): boolean {
    const { actions, observations } = this.spec;
    const count = actions.length === 1 ? choices(actions[0]!) : 0;
    return observations.some(
      ({ name, dtype, shape, size }) =>
        name === MASK &&
        ["bool", "int8", "uint8"].includes(dtype) &&
        shape.length === 1 &&
        size === count,
    );
  }
}

function choices({ domain, size }: TensorSpec): number {
  if (domain.kind === "discrete") return size === 1 ? Number(domain.n) : 0;
  if (domain.kind !== "multiDiscrete") return 0;
  return domain.n.reduce((sum, n) => sum + Number(n), 0);
}

/** `legal` are the choices of all elements, one after another, and empty without a mask. */
function sample(tensor: TensorSpec, legal: boolean[], rng: Rng): number[] {
  let first = 0; // of the element's choices
  const below = (n: number): number => {
    const places = [...Array(n).keys()].filter((place) => legal[first + place]);
    first += n;
    return places.length > 0 ? places[rng.below(places.length)]! : rng.below(n);
  };
  return Array.from({ length: tensor.size }, (_, element) => draw(tensor, element, rng, below));
}

function draw(tensor: TensorSpec, element: number, rng: Rng, below: (n: number) => number): number {
  const domain = tensor.domain;
  switch (domain.kind) {
    case "discrete":
      return Number(domain.start) + below(Number(domain.n));
    case "multiDiscrete":
      return below(Number(domain.n[element]!));
    case "multiBinary":
      return rng.below(2);
    case "box": {
      const [low, high] = [tensor.low()[element]!, tensor.high()[element]!];
      return rng.uniform(Math.max(low, -1), Math.min(high, 1));
    }
  }
}

await main(new RandomAgent());
