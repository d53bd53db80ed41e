/** An agent that is written for one episode: slots are handled here. */
import { type Awaitable, type Values } from "../conforming.js";
import { NotAnAgent } from "../errors.js";
import { type Arrays, Rows } from "../spec.js";
import { Agent } from "./agent.js";
import { type Chosen, type EndKind, type Ends, type Starts, type Steps } from "./calls.js";

/** An agent's part in one episode. Observations have one row, number 0. */
export interface AgentEpisode {
  /** Choose the first action: numbers of the only action tensor, or an object of them by name. */
  start(observation: Arrays): Awaitable<Chosen>;

  /** Choose the next action. `reward` is of the one before; NaN where it is withheld. */
  step(reward: number, observation: Arrays): Awaitable<Chosen>;

  /**
   * Take the last reward and observation, and how the episode ended. Not called for an episode
   * that was abandoned.
   */
  end?(reward: number, observation: Arrays, kind: EndKind): Awaitable<void>;
}

/**
 * Derive from it and write `newEpisode`. Fields of the agent are what all episodes share, such as
 * what it learned.
 */
export abstract class EpisodeAgent extends Agent {
  readonly #episodes = new Map<number, AgentEpisode>(); // by slot

  /** Makes what plays the episode that begins. `seed` is for its random numbers. */
  abstract newEpisode(seed: bigint): AgentEpisode;

  override async agentStart(observations: Arrays, { slots, seeds }: Starts): Promise<Chosen> {
    const actions: Chosen[] = [];
    for (const [row, slot] of slots.entries()) {
      const episode = this.newEpisode(seeds[row]!) as AgentEpisode | null | undefined;
      if (typeof episode?.start !== "function" || typeof episode.step !== "function") {
        throw new NotAnAgent(
          "newEpisode() returned no object with start() and step(); does it return one?",
        );
      }
      this.#episodes.set(slot, episode);
      actions.push(await episode.start(rowOf(observations, row)));
    }
    return together(actions);
  }

  override async agentStep(
    rewards: Float64Array,
    observations: Arrays,
    { slots }: Steps,
  ): Promise<Chosen> {
    const actions: Chosen[] = [];
    for (const [row, slot] of slots.entries()) {
      const episode = this.#episodes.get(slot)!;
      actions.push(await episode.step(rewards[row]!, rowOf(observations, row)));
    }
    return together(actions);
  }

  override async agentEnd(
    rewards: Float64Array,
    observations: Arrays,
    { slots, kinds }: Ends,
  ): Promise<void> {
    for (const [row, slot] of slots.entries()) {
      const episode = this.#episodes.get(slot)!;
      this.#episodes.delete(slot);
      await episode.end?.(rewards[row]!, rowOf(observations, row), kinds[row]!);
    }
  }
}

function rowOf(observations: Arrays, row: number): Arrays {
  const arrays = Object.create(null) as Record<string, Arrays[string]>;
  for (const name in observations) arrays[name] = observations[name]!.slice(row, row + 1);
  return arrays;
}

/** Rows of the episodes' actions. */
function together(actions: readonly Chosen[]): Chosen {
  if (!actions.some(isNamed)) return actions as Values[];
  const named = Object.create(null) as Record<string, Values[]>;
  for (const action of actions) {
    for (const [name, values] of Object.entries<Values>((action ?? {}) as Record<string, Values>))
      (named[name] ??= []).push(values);
  }
  return named;
}

function isNamed(action: Chosen): boolean {
  if (typeof action !== "object" || action === null || action instanceof Rows) return false;
  return !Array.isArray(action) && !ArrayBuffer.isView(action);
}
