/**
 * The benchmark program for `reglue conformance experiment`. It reports what it saw with
 * RL_agent_message, and the answer is its next instruction: proto/CONFORMANCE.md.
 */
import { setTimeout as sleep } from "node:timers/promises";

import {
  AgentFault,
  EnvironmentFault,
  type Experiment,
  RoutineRefused,
  type Rows,
  type TaskSpec,
  TensorSpec,
} from "reglue";

import { elements } from "./rule.js";
import {
  parted,
  rowsWord,
  specWords,
  startedWords,
  steppedWords,
  trajectoryWords,
} from "./words.js";

/** What an agent's half step has after the observations. */
const REWARD = new TensorSpec("/reward", "float64");

const NOTHING = { observations: [], actions: [] };

/** Carries out instructions, one after another. */
export class ConformanceExperiment {
  #task: TaskSpec | undefined;

  constructor(private readonly rl: Experiment) {}

  /** Follow instructions until `leave`. */
  async run(): Promise<void> {
    let saw = "nothing";
    for (;;) {
      const instruction = await this.rl.agentMessage(`did ${saw}`);
      if (instruction === "leave") return;
      saw = await this.#tried(instruction);
    }
  }

  async #tried(instruction: string): Promise<string> {
    try {
      return (await this.#carriedOut(instruction)) ?? "";
    } catch (error) {
      if (error instanceof RoutineRefused) return `refused ${error.code} ${error.message}`;
      if (error instanceof AgentFault) return `agent fault ${error.message}`;
      if (error instanceof EnvironmentFault) return `environment fault ${error.message}`;
      throw error;
    }
  }

  /** What was seen, in words. */
  async #carriedOut(instruction: string): Promise<string | void> {
    const { rl } = this;
    const [routine, text] = parted(instruction, " ");
    const starts = ["start", "episode", "env_start"].includes(routine);
    const [before, named] = starts ? parted(` ${text}`, " of ") : [text, ""];
    const words = before.trim() === "" ? [] : before.trim().split(" ");
    const [variant, task] = parted(named, " ");
    const goal = named === "" ? {} : { variant: Number(variant), task };
    const [first, ...rest] = words.map(Number) as [number, ...number[]];
    const slots = words.map(Number);
    switch (routine) {
      case "sleep":
        return sleep(first);
      case "init":
        this.#task = await rl.init({ slots: first, seed: BigInt(words[1]!) });
        return specWords(this.#task);
      case "start":
        return startedWords(...(await this.#with(rl.start({ slots, ...goal }))), true);
      case "step":
        return steppedWords(...(await this.#with(rl.step(slots))), true);
      case "episode":
        return (await rl.episode({ maxSteps: BigInt(words[0]!), slots: rest, ...goal }))
          ? "1"
          : "0";
      case "trajectory":
        return trajectoryWords(...(await this.#with(rl.episodeTrajectory(first, rest[0]))));
      case "counts":
        return `${await rl.return(first)} ${await rl.numSteps(first)} ${await rl.numEpisodes(first)}`;
      case "success":
        return (await rl.success(first)) ? "1" : "0";
      case "tasks":
        return (await rl.tasks()).map(({ name, variants }) => `${name} ${variants}`).join(" ");
      case "iterate_goal":
        return rl.iterateGoal(slots);
      case "adapt_begin":
        return rl.adaptBegin();
      case "adapt":
        return rl.adapt();
      case "env_start":
        return startedWords(...(await this.#with(rl.envStart({ slots, ...goal }))), false);
      case "cleanup":
        return rl.cleanup();
      case "freeze":
        return rl.freeze();
      case "standardize":
        return rl.standardizeRandomness(BigInt(words[0]!));
      case "get_state":
        return rl.getState(first);
      case "set_state":
        return rl.setState(words[1]!, first);
      case "get_random_seed":
        return rl.getRandomSeed(first);
      case "set_random_seed":
        return rl.setRandomSeed(words[1]!, first);
      case "agent_message":
        return rl.agentMessage(text);
      case "env_message":
        return rl.envMessage(text);
      default:
        return this.#halfStep(routine, slots);
    }
  }

  /** Rows are what the rule makes of each slot's memory: `memory` and its number. */
  async #halfStep(routine: string, numbers: number[]): Promise<string | void> {
    const { rl } = this;
    const { observations, actions } = this.#task ?? NOTHING;
    const [memory, ...slots] = numbers as [number, ...number[]];
    const made = (tensors: readonly TensorSpec[], slots: readonly number[]) =>
      elements(
        slots.map((slot) => (memory + slot) >>> 0),
        tensors,
      );
    const seen = (slots: readonly number[]) => {
      const { "/reward": reward, ...rows } = made([...observations, REWARD], slots);
      return [(reward as Rows<Float64Array>).data, rows] as const;
    };
    switch (routine) {
      case "env_step": {
        const stepped = rl.envStep(made(actions, slots), slots);
        return steppedWords(...(await this.#with(stepped)), false);
      }
      case "agent_start":
        return rowsWord(actions, await rl.agentStart(seen(slots)[1], slots));
      case "agent_step":
        return rowsWord(actions, await rl.agentStep(...seen(slots), slots));
      case "agent_end": {
        const [truncated, ...ended] = slots as [number, ...number[]];
        return rl.agentEnd(...seen(ended), ended, { truncated: truncated === 1 });
      }
      default:
        return "what is that?";
    }
  }

  /** The task, which is there when a routine has answered, and the answer. */
  async #with<Result>(answer: Promise<Result>): Promise<[TaskSpec, Result]> {
    const result = await answer;
    return [this.#task!, result];
  }
}
