/**
 * Sarsa(λ) with tile coding: learns the values of actions while it acts on them.
 *
 * Sutton & Barto 2018, "Reinforcement Learning: An Introduction", 2nd edition: the algorithm with
 * binary features and replacing traces is the box on page 305 (section 12.7).
 *
 *     reglue bench online:mountain-car --agent-cmd "node dist/examples/sarsa.js"
 */
import {
  Agent,
  type Arrays,
  Rng,
  EndKind,
  type Ends,
  main,
  NotAnAgent,
  type Starts,
  type Steps,
  type TaskSpec,
} from "reglue";

import { Tilings } from "./tiles.js";

const ALPHA = 0.5; // step size of a whole state: each of its tiles takes an equal part
const LAMBDA = 0.9;
const EPSILON = 0.1; // probability of exploring
const TILINGS = 8;
const TILES = 8; // to a side
const FAINTEST = 0.01; // a trace below it is forgotten: it would cost more than it teaches

interface Episode {
  readonly rng: Rng;
  active: number[]; // features of the present state
  action: number;
  traces: Map<number, number>[]; // by action: feature -> how much it is to blame
}

/** One linear value function for all slots; every slot's steps teach it. */
class Sarsa extends Agent {
  #tilings!: Tilings;
  #first = 0; // the least action
  #weights: Map<number, number>[] = []; // by action: feature -> weight
  #episodes = new Map<number, Episode>(); // by slot
  #isFrozen = false;

  override agentInit({ observations, actions }: TaskSpec): void {
    const domain = actions[0]!.domain;
    if (observations.length !== 1 || actions.length !== 1 || domain.kind !== "discrete") {
      throw new NotAnAgent("Sarsa needs one observation within bounds and one discrete action");
    }
    this.#tilings = new Tilings(observations[0]!.low(), observations[0]!.high(), TILINGS, TILES);
    this.#first = Number(domain.start);
    this.#weights = Array.from({ length: Number(domain.n) }, () => new Map<number, number>());
    this.#episodes.clear();
    this.#isFrozen = false;
  }

  override agentStart(observations: Arrays, { slots, seeds }: Starts): number[] {
    return Array.from(slots, (slot, row) => {
      const rng = new Rng(seeds[row]!);
      const active = this.#features(observations, row);
      const action = this.#choose(this.#values(active), rng);
      const traces = this.#weights.map(() => new Map<number, number>());
      this.#episodes.set(slot, { rng, active, action, traces });
      return this.#first + action;
    });
  }

  override agentStep(rewards: Float64Array, observations: Arrays, { slots }: Steps): number[] {
    return Array.from(slots, (slot, row) => this.#goOn(slot, rewards[row]!, observations, row));
  }

  override agentEnd(rewards: Float64Array, observations: Arrays, { slots, kinds }: Ends): void {
    slots.forEach((slot, row) => {
      if (kinds[row] === EndKind.Truncated) {
        this.#goOn(slot, rewards[row]!, observations, row); // learn from what could have come
      } else if (kinds[row] === EndKind.Terminated && !this.#isFrozen) {
        this.#learn(this.#episodes.get(slot)!, rewards[row]!);
      }
      this.#episodes.delete(slot);
    });
  }

  override agentFreeze(): void {
    this.#isFrozen = true;
  }

  #goOn(slot: number, reward: number, observations: Arrays, row: number): number {
    const episode = this.#episodes.get(slot)!;
    const active = this.#features(observations, row);
    const values = this.#values(active);
    const action = this.#choose(values, episode.rng);
    if (!this.#isFrozen) this.#learn(episode, reward + this.spec.discount * values[action]!);
    episode.active = active;
    episode.action = action;
    return this.#first + action;
  }

  #features(observations: Arrays, row: number): number[] {
    return this.#tilings.active(observations[this.spec.observations[0]!.name]!.numbers(row));
  }

  #values(active: number[]): number[] {
    return this.#weights.map((weights) => value(weights, active));
  }

  /** A best action, each as likely; until it is frozen, with probability EPSILON any action. */
  #choose(values: number[], rng: Rng): number {
    if (!this.#isFrozen && rng.uniform() < EPSILON) return rng.below(values.length);
    const best = Math.max(...values);
    const places = values.flatMap((each, place) => (each === best ? [place] : []));
    return places.length === 1 ? places[0]! : places[rng.below(places.length)]!;
  }

  /** Move the value of the last action, and of those before it, towards `target`. */
  #learn({ action, active, traces }: Episode, target: number): void {
    const error = target - value(this.#weights[action]!, active);
    for (const feature of active) traces[action]!.set(feature, 1);
    const step = (ALPHA / TILINGS) * error;
    const fade = LAMBDA * this.spec.discount;
    traces.forEach((blame, each) => {
      const weights = this.#weights[each]!;
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
