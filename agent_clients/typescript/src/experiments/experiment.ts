/**
 * A benchmark program's end of a session: RL-Glue's routines, over slots.
 *
 * Source: the RL-Glue concepts page (1.0) and Tanner & White 2009, "RL-Glue: Language-Independent
 * Software for Reinforcement-Learning Experiments", JMLR 10 (3.0); where they differ, each form has
 * a name of its own.
 */
import type { Task } from "../environments/calls.js";
import { type Answer, type Awaitable, conforming, copied, type Kind } from "../conforming.js";
import { BadCall, RoutineRefused, UsageError } from "../errors.js";
import type { Counts } from "../gen/reglue/v1/experiment_pb.js";
import { ExperimentSession } from "../net/experiment_session.js";
import { checkedOptions } from "../net/options.js";
import { type MainOptions, runProgram } from "../program.js";
import type { Arrays, TaskSpec } from "../spec.js";
import {
  type Call,
  decodeActed,
  decodeEnded,
  decodeStarted,
  decodeStepped,
} from "../wire/experiment.js";
import { decodeSpec } from "../wire/specs.js";
import { bytesOf } from "../wire/tensors.js";
import {
  checkedInteger,
  checkedObject,
  checkedRewards,
  checkedSlot,
  checkedSlots,
  checkedStart,
  checkedText,
  MAX_SEED,
  MAX_UINT32,
  MAX_UINT64,
  type Start,
} from "./arguments.js";
import type { EpisodeOptions, ExperimentOptions, InitOptions, StartOptions } from "./options.js";
import type { Started, Stepped, Trajectory } from "./results.js";
import { RoutineCalls } from "./routine_calls.js";
import { playTrajectory } from "./trajectory.js";

/** The error of rows that the glue would refuse. */
function misfit(what: string, got: string, wanted: string): RoutineRefused {
  return new RoutineRefused("WRONG_SIZE", `${what}: ${got}`, wanted);
}

const KINDS = {
  actions: { noun: "action", hint: "did you pass them?", misfit },
  observations: { noun: "observation", hint: "did you pass them?", misfit },
} satisfies Record<string, Kind>;

/**
 * Calls RL-Glue's routines at a glue. They wait until an agent and an environment are there.
 *
 *     const rl = await Experiment.join();
 *     await rl.init();
 *     await rl.episode({ maxSteps: 10_000 });
 *     console.log(await rl.numSteps(), await rl.return());
 *     await rl.cleanup();
 *     await rl.close();
 *
 * Routines have RL-Glue's names without RL_. They are carried out in the order of their calls, each
 * once, whatever connections break. `slots` that are empty mean all.
 *
 * A refused routine changes nothing. It throws OutOfOrder (another routine comes first),
 * NotSupported, UnknownKey, OutOfDomain (an unknown slot, an invalid argument) or RoutineRefused
 * (rows that do not fit the spec). AgentFault and EnvironmentFault say who failed; the slots'
 * episodes are over then. SessionLost: the glue is gone, or has ended the session.
 */
export class Experiment {
  readonly #calls: RoutineCalls;
  #spec: TaskSpec | undefined; // of the last `init`

  private constructor(session: ExperimentSession) {
    this.#calls = new RoutineCalls(session);
  }

  /**
   * Join a glue, as `connect` does.
   *
   * Throws Unreachable, Refused (wrong token, wrong version, WrongTls, busy), UsageError.
   */
  static async join(options: ExperimentOptions = {}): Promise<Experiment> {
    const { where, playing } = checkedOptions(options, "experiment", "experiment");
    const { timeoutS = 86_400 } = options;
    if (!(timeoutS > 0)) throw new UsageError(`got a timeout of ${timeoutS} s, wanted more than 0`);
    return new Experiment(await ExperimentSession.join(where, playing, 1000 * timeoutS));
  }

  /**
   * Join, run a whole benchmark program, and leave the process.
   *
   * Exit codes: 0 the program returned, 1 it threw or the glue went away, 2 wrong usage or refused,
   * 130 after SIGINT, 143 after SIGTERM; `handleSignals` as of `main`.
   */
  static async main(
    program: (rl: Experiment) => Awaitable<void>,
    { handleSignals, ...options }: MainOptions<ExperimentOptions> = {},
  ): Promise<never> {
    return runProgram(async (signal) => {
      if (typeof program !== "function") {
        throw new UsageError(`got ${String(program)}, wanted a function that plays an experiment`);
      }
      const rl = await Experiment.join({ ...options, signal });
      try {
        await program(rl);
        return undefined;
      } catch (error) {
        process.on("unhandledRejection", () => {}); // of a call beside it, which ends by it
        throw error;
      } finally {
        await rl.close();
      }
    }, handleSignals);
  }

  /**
   * Leave; the glue lets the agent and the environment go. Takes 10 s at most: calls that are not
   * over after 5 s throw SessionLost.
   */
  async close(): Promise<void> {
    await this.#calls.close();
  }

  /** RL_init: env_init, then agent_init. Counts are zero again. Returns the task. */
  async init(options: InitOptions = {}): Promise<TaskSpec> {
    const { slots = 1, seed = 0, task = "", variant = 0 } = checkedObject(options);
    const value = {
      slots: Number(checkedInteger("slots", slots, MAX_UINT32, 1n)),
      seed: checkedInteger("seed", seed, MAX_SEED),
      task: checkedText("task", task),
      variant: Number(checkedInteger("variant", variant, MAX_UINT32)),
    };
    return this.#calls.request(
      { case: "init", value },
      "spec",
      (spec) => (this.#spec = decodeSpec(spec)),
    );
  }

  /** RL_tasks: what the environment can play, since `init`. */
  async tasks(): Promise<Task[]> {
    return this.#calls.request({ case: "tasks", value: {} }, "tasks", ({ tasks }) =>
      tasks.map(({ name, variants }) => ({ name, variants })),
    );
  }

  /** RL_start: first observations and actions. An episode in play is cut off. */
  async start(options: StartOptions = {}): Promise<Started> {
    const value = checkedStart(options);
    return this.#calls.after(() => this.#start(value));
  }

  /**
   * RL_iterate_goal: each slot's next start plays the next variant of its task, after the last one
   * the first. A slot that has not played since `init` starts with what `init` chose.
   */
  async iterateGoal(slots: readonly number[] = []): Promise<void> {
    const value = { slots: checkedSlots(slots) };
    return this.#calls.request({ case: "iterateGoal", value }, "done", () => {});
  }

  /** RL_step in `slots`, or in all slots with an episode in play: plays the agent's pending action. */
  async step(slots: readonly number[] = []): Promise<Stepped> {
    const places = checkedSlots(slots);
    return this.#calls.after(() => this.#step(places));
  }

  /**
   * RL_episode of 3.0: one episode in each slot; true if all ended by themselves.
   *
   * No agent_end follows a cut-off episode.
   */
  async episode(options: EpisodeOptions = {}): Promise<boolean> {
    const { maxSteps = 0 } = checkedObject(options);
    const value = {
      maxSteps: checkedInteger("maxSteps", maxSteps, MAX_UINT64),
      ...checkedStart(options),
    };
    return this.#calls.request({ case: "episode", value }, "episode", decodeEnded);
  }

  /** RL_episode of 1.0: at most `steps` steps of the environment, and all of them. */
  async episodeTrajectory(steps: number | bigint, slot = 0): Promise<Trajectory> {
    const maxSteps = checkedInteger("steps", steps, MAX_UINT64);
    const slots = [checkedSlot(slot)];
    return this.#calls.after(() =>
      playTrajectory(maxSteps, {
        start: () => this.#start({ slots }),
        step: () => this.#step(slots),
        spec: () => this.#task(),
      }),
    );
  }

  /** RL_return: the sum of rewards of the present or last episode. Discount in the environment. */
  async return(slot = 0): Promise<number> {
    return (await this.#counts(slot)).sumOfRewards;
  }

  /** RL_num_steps of 3.0: actions that the agent chose in the present or last episode. */
  async numSteps(slot = 0): Promise<number> {
    return Number((await this.#counts(slot)).steps);
  }

  /** RL_num_episodes: episodes that ended by themselves since RL_init. */
  async numEpisodes(slot = 0): Promise<number> {
    return Number((await this.#counts(slot)).episodes);
  }

  /** RL_success: whether some step of the present or last episode was a success. */
  async success(slot = 0): Promise<boolean> {
    return (await this.#counts(slot)).success;
  }

  /** RL_cleanup: env_cleanup, then agent_cleanup. Counts stay; `init` comes next. */
  async cleanup(): Promise<void> {
    return this.#calls.request({ case: "cleanup", value: {} }, "done", () => {});
  }

  /** RL_freeze: agent_freeze. What follows is judged, until `init` or `adaptBegin`. */
  async freeze(): Promise<void> {
    return this.#calls.request({ case: "freeze", value: {} }, "done", () => {});
  }

  /**
   * RL_adapt_begin: adapt_begin. The agent returns to what it was before adaptation; it adapts in what
   * follows, until `freeze`. Throws NotSupported if it cannot. No episode may be in play: it has ended,
   * or was cut off by `maxSteps`.
   */
  async adaptBegin(): Promise<void> {
    return this.#calls.request({ case: "adaptBegin", value: {} }, "done", () => {});
  }

  /**
   * RL_adapt: adapt. An adaptation step is over: the agent learns from its episodes, at least one,
   * since `adaptBegin` or the last `adapt`. None may be in play.
   */
  async adapt(): Promise<void> {
    return this.#calls.request({ case: "adapt", value: {} }, "done", () => {});
  }

  /**
   * RL_standardize_randomness: from the next start on, the environment's random numbers in the n-th
   * start are those of `new Rng(seed, n)`, on every platform. `seed` is 0 to 2⁶³ - 1.
   */
  async standardizeRandomness(seed: number | bigint = 0): Promise<void> {
    const value = { seed: checkedInteger("seed", seed, MAX_SEED) };
    return this.#calls.request({ case: "standardizeRandomness", value }, "done", () => {});
  }

  /** RL_get_state, during an episode: a key that names the environment's state. */
  async getState(slot = 0): Promise<string> {
    const value = { slot: checkedSlot(slot) };
    return this.#calls.request({ case: "getState", value }, "key", ({ key }) => key);
  }

  /**
   * RL_set_state: the environment continues from there, to the bit. The agent's next action and the
   * counts do not change.
   */
  async setState(key: string, slot = 0): Promise<void> {
    const value = { slot: checkedSlot(slot), key: checkedText("key", key) };
    return this.#calls.request({ case: "setState", value }, "done", () => {});
  }

  /** RL_get_random_seed, during an episode: a key that names the state of the environment's generators. */
  async getRandomSeed(slot = 0): Promise<string> {
    const value = { slot: checkedSlot(slot) };
    return this.#calls.request({ case: "getRandomSeed", value }, "key", ({ key }) => key);
  }

  /** RL_set_random_seed: the environment's random numbers continue from there. */
  async setRandomSeed(key: string, slot = 0): Promise<void> {
    const value = { slot: checkedSlot(slot), key: checkedText("key", key) };
    return this.#calls.request({ case: "setRandomSeed", value }, "done", () => {});
  }

  /** RL_agent_message; legal at any time. */
  async agentMessage(text: string): Promise<string> {
    const value = { text: checkedText("message", text) };
    return this.#calls.request({ case: "agentMessage", value }, "message", (reply) => reply.text);
  }

  /** RL_env_message; legal at any time. */
  async envMessage(text: string): Promise<string> {
    const value = { text: checkedText("message", text) };
    return this.#calls.request({ case: "envMessage", value }, "message", (reply) => reply.text);
  }

  // Half steps, for programs that change what passes between agent and environment. Rows are as
  // `slots`, and are cast to the spec's dtypes as an agent's actions are.

  /** RL_env_start: env_start alone; no actions. The agent does not notice. */
  async envStart(options: StartOptions = {}): Promise<Started> {
    const value = checkedStart(options);
    return this.#calls.request({ case: "envStart", value }, "started", (reply) =>
      decodeStarted(reply, this.#task(), value.slots, false),
    );
  }

  /** RL_env_step: env_step alone, with these actions; no next ones. */
  async envStep(actions: Answer, slots: readonly number[] = [0]): Promise<Stepped> {
    const [rows, places] = [copied(actions), checkedSlots(slots)];
    const call = (): Call => ({
      case: "envStep",
      value: {
        slots: places,
        actions: this.#bytes("envStep", "actions", rows, places),
      },
    });
    return this.#calls.request(call, "stepped", (reply) =>
      decodeStepped(reply, this.#task(), places, false),
    );
  }

  /** RL_agent_start: agent_start alone; the actions that it returns are what `step` plays next. */
  async agentStart(observations: Answer, slots: readonly number[] = [0]): Promise<Arrays> {
    const [rows, places] = [copied(observations), checkedSlots(slots)];
    const call = (): Call => ({
      case: "agentStart",
      value: {
        slots: places,
        observations: this.#bytes("agentStart", "observations", rows, places),
      },
    });
    return this.#calls.request(call, "acted", (reply) => decodeActed(reply, this.#task(), places));
  }

  /** RL_agent_step: agent_step alone, likewise. */
  async agentStep(
    rewards: ArrayLike<number>,
    observations: Answer,
    slots: readonly number[] = [0],
  ): Promise<Arrays> {
    const [rows, places] = [copied(observations), checkedSlots(slots)];
    const encodedRewards = bytesOf(checkedRewards(rewards));
    const call = (): Call => ({
      case: "agentStep",
      value: {
        slots: places,
        rewards: encodedRewards,
        observations: this.#bytes("agentStep", "observations", rows, places),
      },
    });
    return this.#calls.request(call, "acted", (reply) => decodeActed(reply, this.#task(), places));
  }

  /** RL_agent_end: agent_end alone, with the last observations. */
  async agentEnd(
    rewards: ArrayLike<number>,
    observations: Answer,
    slots: readonly number[] = [0],
    options: { readonly truncated?: boolean } = {},
  ): Promise<void> {
    const [rows, places] = [copied(observations), checkedSlots(slots)];
    const encodedRewards = bytesOf(checkedRewards(rewards));
    const { truncated = false } = checkedObject(options);
    const call = (): Call => ({
      case: "agentEnd",
      value: {
        slots: places,
        rewards: encodedRewards,
        observations: this.#bytes("agentEnd", "observations", rows, places),
        truncated,
      },
    });
    return this.#calls.request(call, "done", () => {});
  }

  #start(value: Start): Promise<Started> {
    return this.#calls.exchange({ case: "start", value }, "started", (reply) =>
      decodeStarted(reply, this.#task(), value.slots, true),
    );
  }

  #step(slots: number[]): Promise<Stepped> {
    return this.#calls.exchange({ case: "step", value: { slots } }, "stepped", (reply) =>
      decodeStepped(reply, this.#task(), slots, true),
    );
  }

  #counts(slot: number): Promise<Counts> {
    return this.#calls.request(
      { case: "counts", value: { slot: checkedSlot(slot) } },
      "counts",
      (reply) => reply,
    );
  }

  /**
   * The bytes of each tensor, of the task that is played when the call's turn comes; none before
   * RL_init, as the glue then says what comes first.
   */
  #bytes(
    routine: string,
    what: "actions" | "observations",
    answer: Answer,
    slots: readonly number[],
  ): Uint8Array[] {
    if (this.#spec === undefined) return [];
    const part = { routine, answer, rows: slots.length };
    return conforming(this.#spec[what], part, KINDS[what]).map(bytesOf);
  }

  #task(): TaskSpec {
    if (this.#spec === undefined) throw new BadCall("rows before RL_init", "RL_init first");
    return this.#spec;
  }
}
