/**
 * Sarsa(λ) with tile coding: learns the values of actions while it acts on them.
 *
 * Sutton & Barto 2018, "Reinforcement Learning: An Introduction", 2nd edition: the algorithm with
 * binary features and replacing traces is the box on page 305 (section 12.7).
 *
 *     reglue bench online:mountain-car --agent-cmd "node dist/examples/sarsa.js"
 */
import {
  type AgentEpisode,
  type Arrays,
  EndKind,
  EpisodeAgent,
  main,
  NotAnAgent,
  Rng,
  type TaskSpec,
} from "reglue";

import { Tilings } from "./tiles.js";

const ALPHA = 0.5; // step size of a whole state: each of its tiles takes an equal part
const LAMBDA = 0.9;
const EPSILON = 0.1; // probability of exploring
const TILINGS = 8;
const TILES = 8; // to a side
const FAINTEST = 0.01; // a trace below it is forgotten: it would cost more than it teaches

/** What all episodes share: one linear value function. */
class Sarsa extends EpisodeAgent {
  tilings!: Tilings;
  first = 0; // the smallest action
  weights: Map<number, number>[] = []; // by action: feature -> weight
  isFrozen = false;

  override agentInit({ observations, actions }: TaskSpec): void {
    const domain = actions[0]!.domain;
    if (observations.length !== 1 || actions.length !== 1 || domain.kind !== "discrete") {
      throw new NotAnAgent("Sarsa needs one observation within bounds and one discrete action");
    }
    this.tilings = new Tilings(observations[0]!.low(), observations[0]!.high(), TILINGS, TILES);
    this.first = Number(domain.start);
    this.weights = Array.from({ length: Number(domain.n) }, () => new Map<number, number>());
    this.isFrozen = false;
  }

  override newEpisode(seed: bigint): AgentEpisode {
    return new Episode(this, new Rng(seed));
  }

  override agentFreeze(): void {
    this.isFrozen = true;
  }

  values(active: number[]): number[] {
    return this.weights.map((weights) => value(weights, active));
  }

  /** A best action, each as likely; until it is frozen, with probability EPSILON any action. */
  choose(values: number[], rng: Rng): number {
    if (!this.isFrozen && rng.uniform() < EPSILON) return rng.below(values.length);
    const best = Math.max(...values);
    const places = values.flatMap((each, place) => (each === best ? [place] : []));
    return places.length === 1 ? places[0]! : places[rng.below(places.length)]!;
  }
}

class Episode implements AgentEpisode {
  #active: number[] = []; // features of the present state
  #action = 0;
  readonly #traces: Map<number, number>[]; // by action: feature -> how much it is to blame

  constructor(
    readonly sarsa: Sarsa,
    readonly rng: Rng,
  ) {
    this.#traces = sarsa.weights.map(() => new Map<number, number>());
  }

  start(observation: Arrays): number {
    this.#active = this.#features(observation);
    this.#action = this.sarsa.choose(this.sarsa.values(this.#active), this.rng);
    return this.sarsa.first + this.#action;
  }

  step(reward: number, observation: Arrays): number {
    const { sarsa } = this;
    const active = this.#features(observation);
    const values = sarsa.values(active);
    const action = sarsa.choose(values, this.rng);
    if (!sarsa.isFrozen) this.#learn(reward + sarsa.spec.discount * values[action]!);
    this.#active = active;
    this.#action = action;
    return sarsa.first + action;
  }

  end(reward: number, observation: Arrays, kind: EndKind): void {
    if (kind === EndKind.Truncated)
      this.step(reward, observation); // learn from what could have come
    else if (kind === EndKind.Terminated && !this.sarsa.isFrozen) this.#learn(reward);
  }

  #features(observation: Arrays): number[] {
    const { name } = this.sarsa.spec.observations[0]!;
    return this.sarsa.tilings.active(observation[name]!.numbers(0));
  }

  /** Move the value of the last action, and of those before it, towards `target`. */
  #learn(target: number): void {
    const { sarsa } = this;
    const error = target - value(sarsa.weights[this.#action]!, this.#active);
    for (const feature of this.#active) this.#traces[this.#action]!.set(feature, 1);
    const step = (ALPHA / TILINGS) * error;
    const fade = LAMBDA * sarsa.spec.discount;
    this.#traces.forEach((blame, each) => {
      const weights = sarsa.weights[each]!;
      for (const [feature, trace] of blame) {
        weights.set(feature, (weights.get(feature) ?? 0) + step * trace);
        if (fade * trace >= FAINTEST) blame.set(feature, fade * trace);
        else blame.delete(feature);
      }
    });
  }
}

function value(weights: Map<number, number>, active: number[]): number {
  return active.reduce((sum, feature) => sum + (weights.get(feature) ?? 0), 0);
}

await main(new Sarsa());
