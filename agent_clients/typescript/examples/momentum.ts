/** Pushes a car the way it rolls, now and then at random: a whole small agent. */
import { Agent, type Arrays, Rng, main, type Starts, type Steps, type TaskSpec } from "reglue";

class Momentum extends Agent {
  #rng: Rng[] = []; // of each slot's episode
  #returns = new Float64Array();

  override agentInit(spec: TaskSpec): void {
    this.#returns = new Float64Array(spec.slots);
  }

  override agentStart(observations: Arrays, { slots, seeds }: Starts): number[] {
    slots.forEach((slot, row) => {
      this.#rng[slot] = new Rng(seeds[row]!); // the same in every run of this episode
      this.#returns[slot] = 0;
    });
    return this.#act(observations, slots);
  }

  override agentStep(rewards: Float64Array, observations: Arrays, { slots }: Steps): number[] {
    slots.forEach((slot, row) => (this.#returns[slot]! += rewards[row]!));
    return this.#act(observations, slots);
  }

  /** One action for each slot; a row of the observation is position and velocity. */
  #act(observations: Arrays, slots: Uint32Array): number[] {
    return Array.from(slots, (slot, row) => {
      const [, velocity] = observations["observation"]!.numbers(row);
      if (this.#rng[slot]!.uniform() < 0.1) return this.#rng[slot]!.below(3);
      return velocity! < 0 ? 0 : 2; // left or right
    });
  }

  /** The benchmark's free text. */
  override agentMessage(message: string): string {
    return message === "returns" ? this.#returns.join(" ") : "";
  }
}

await main(new Momentum());
