/**
 * A benchmark program's end of a session: RL-Glue's routines, over slots.
 *
 * Source: the RL-Glue concepts page (1.0) and Tanner & White 2009, "RL-Glue: Language-Independent
 * Software for Reinforcement-Learning Experiments", JMLR 10 (3.0); where they differ, each form has
 * a name of its own.
 */
import { type Answer, type Awaitable, conforming, type Kind } from "../conforming.js";
import { BadCall, RoutineRefused, SpecError, UsageError } from "../errors.js";
import type { Counts, ExperimentReply } from "../gen/reglue/v1/experiment_pb.js";
import { AskingSession } from "../net/asking_session.js";
import { checkedOptions, type ConnectOptions } from "../net/options.js";
import { runProgram } from "../program.js";
import { type Arrays, elementsType, Rows, type TaskSpec, type TensorSpec } from "../spec.js";
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
  checked,
  checkedSlot,
  checkedSlots,
  MOST_SEED,
  MOST_UINT32,
  MOST_UINT64,
} from "./arguments.js";
import { thrownBy } from "./refusals.js";
import type { Started, Stepped, Trajectory } from "./results.js";

/** How a benchmark program connects. */
export interface ExperimentOptions extends ConnectOptions {
  /** How long a routine may take, RL_init with its wait for agent and environment too; 24 hours. */
  readonly timeoutS?: number | undefined;
}

/** What RL_init plays. */
export interface InitOptions {
  /** How many episodes at once; 1 by default. */
  readonly slots?: number;
  /** All random numbers follow from it, 0 to 2⁶³ - 1; 0 by default. */
  readonly seed?: number | bigint;
  /** By default the environment's first. */
  readonly task?: string;
  /** Of the task, from 0; 0 by default. */
  readonly variant?: number;
}

/** The answer of a call that is answered by `Case`. */
type Reply<Case> =
  Extract<ExperimentReply["reply"], { case: Case }> extends { value: infer Value } ? Value : never;

/** The error of rows that the glue would refuse. */
function misfit(what: string, got: string, wanted: string): RoutineRefused {
  return new RoutineRefused("WRONG_SIZE", `${what}: ${got}`, wanted);
}

const ACTIONS: Kind = { noun: "action", misfit };
const OBSERVATIONS: Kind = { noun: "observation", misfit };

/**
 * Calls RL-Glue's routines at a glue. They wait until an agent and an environment are there.
 *
 *     const rl = await Experiment.join();
 *     await rl.init();
 *     await rl.episode(10_000);
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
  readonly #session: AskingSession;
  #spec: TaskSpec | undefined;
  #last: Promise<unknown> = Promise.resolve(); // the last call; the next one waits for it

  private constructor(session: AskingSession) {
    this.#session = session;
  }

  /**
   * Join a glue, as `connect` does.
   *
   * Throws Unreachable, Refused (wrong token, wrong version, WrongTls, busy), UsageError.
   */
  static async join(options: ExperimentOptions = {}): Promise<Experiment> {
    const { timeoutS = 86_400 } = options;
    if (!(timeoutS > 0)) throw new UsageError(`got a timeout of ${timeoutS} s, wanted more than 0`);
    const { where, playing } = checkedOptions(options, "experiment", "experiment");
    return new Experiment(await AskingSession.join(where, playing, 1000 * timeoutS));
  }

  /**
   * Join, run a whole benchmark program, and leave the process.
   *
   * Exit codes: 0 the program returned, 1 it threw or the glue went away, 2 wrong usage or refused,
   * 130 interrupted (SIGINT, SIGTERM).
   */
  static async main(
    program: (rl: Experiment) => Awaitable<void>,
    options: Omit<ExperimentOptions, "signal"> = {},
  ): Promise<never> {
    return runProgram(async (signal) => {
      const rl = await Experiment.join({ ...options, signal });
      try {
        await program(rl);
        return undefined;
      } finally {
        await rl.close();
      }
    });
  }

  /** Leave; the glue lets the agent and the environment go. */
  close(): Promise<void> {
    return this.#after(() => this.#session.leave());
  }

  /** RL_init: env_init, then agent_init. Counts are zero again. Returns the task. */
  async init({ slots = 1, seed = 0, task = "", variant = 0 }: InitOptions = {}): Promise<TaskSpec> {
    const value = {
      slots: Number(checked("slots", slots, MOST_UINT32, 1n)),
      seed: checked("seed", seed, MOST_SEED),
      task,
      variant: Number(checked("variant", variant, MOST_UINT32)),
    };
    return this.#ask({ case: "init", value }, "spec", (spec) => (this.#spec = decodeSpec(spec)));
  }

  /** RL_start: first observations and actions. An episode in play is cut off. */
  async start(slots: readonly number[] = []): Promise<Started> {
    return this.#ask({ case: "start", value: { slots: checkedSlots(slots) } }, "started", (reply) =>
      decodeStarted(reply, this.#begun(), slots, true),
    );
  }

  /** RL_step in `slots`, or in all slots with an episode in play: plays the agent's pending action. */
  async step(slots: readonly number[] = []): Promise<Stepped> {
    return this.#ask({ case: "step", value: { slots: checkedSlots(slots) } }, "stepped", (reply) =>
      decodeStepped(reply, this.#begun(), slots, true),
    );
  }

  /**
   * RL_episode of 3.0: one episode in each slot; true if all ended by themselves.
   *
   * The start counts as the first of `maxSteps`; 0 means no limit. No agent_end follows a cut-off
   * episode.
   */
  async episode(maxSteps: number | bigint = 0, slots: readonly number[] = []): Promise<boolean> {
    const value = {
      maxSteps: checked("maxSteps", maxSteps, MOST_UINT64),
      slots: checkedSlots(slots),
    };
    return this.#ask({ case: "episode", value }, "episode", decodeEnded);
  }

  /** RL_episode of 1.0: at most `steps` steps of the environment, and all of them. */
  async episodeTrajectory(steps: number, slot = 0): Promise<Trajectory> {
    const started = await this.start([slot]);
    const rows = [started as { observations: Arrays; actions: Arrays }];
    const rewards: number[] = [];
    let [terminated, truncated] = [false, false];
    while (!terminated && !truncated && rewards.length < steps) {
      const stepped = await this.step([slot]);
      rewards.push(stepped.rewards[0]!);
      [terminated, truncated] = [stepped.terminated[0]!, stepped.truncated[0]!];
      if (!terminated && !truncated) rows.push(stepped);
    }
    const spec = this.#begun();
    return {
      observations: joined(
        spec.observations,
        rows.map(({ observations }) => observations),
      ),
      actions: joined(
        spec.actions,
        rows.map(({ actions }) => actions),
      ),
      rewards: Float64Array.from(rewards),
      terminated,
      truncated,
    };
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

  /** RL_cleanup: env_cleanup, then agent_cleanup. Counts stay; `init` comes next. */
  async cleanup(): Promise<void> {
    return this.#ask({ case: "cleanup", value: {} }, "done", () => {});
  }

  /** RL_freeze: agent_freeze. What follows is judged, until the next `init`. */
  async freeze(): Promise<void> {
    return this.#ask({ case: "freeze", value: {} }, "done", () => {});
  }

  /**
   * RL_standardize_randomness: from the next start on, the environment's random numbers in the n-th
   * start are those of `new Rng(seed, n)`, on every platform. `seed` is 0 to 2⁶³ - 1.
   */
  async standardizeRandomness(seed: number | bigint = 0): Promise<void> {
    const value = { seed: checked("seed", seed, MOST_SEED) };
    return this.#ask({ case: "standardizeRandomness", value }, "done", () => {});
  }

  /** RL_get_state, during an episode: a key that names the environment's state. */
  async getState(slot = 0): Promise<string> {
    const value = { slot: checkedSlot(slot) };
    return this.#ask({ case: "getState", value }, "key", ({ key }) => key);
  }

  /**
   * RL_set_state: the environment continues from there, to the bit. The agent's next action and the
   * counts do not change.
   */
  async setState(key: string, slot = 0): Promise<void> {
    const value = { slot: checkedSlot(slot), key };
    return this.#ask({ case: "setState", value }, "done", () => {});
  }

  /** RL_get_random_seed, during an episode: a key that names the state of the environment's generators. */
  async getRandomSeed(slot = 0): Promise<string> {
    const value = { slot: checkedSlot(slot) };
    return this.#ask({ case: "getRandomSeed", value }, "key", ({ key }) => key);
  }

  /** RL_set_random_seed: the environment's random numbers continue from there. */
  async setRandomSeed(key: string, slot = 0): Promise<void> {
    const value = { slot: checkedSlot(slot), key };
    return this.#ask({ case: "setRandomSeed", value }, "done", () => {});
  }

  /** RL_agent_message; legal at any time. */
  async agentMessage(text: string): Promise<string> {
    return this.#ask({ case: "agentMessage", value: { text } }, "message", (reply) => reply.text);
  }

  /** RL_env_message; legal at any time. */
  async envMessage(text: string): Promise<string> {
    return this.#ask({ case: "envMessage", value: { text } }, "message", (reply) => reply.text);
  }

  // Half steps, for programs that change what passes between agent and environment. Rows are as
  // `slots`, and are cast to the spec's dtypes as an agent's actions are.

  /** RL_env_start: env_start alone; no actions. The agent is not told. */
  async envStart(slots: readonly number[] = []): Promise<Started> {
    const value = { slots: checkedSlots(slots) };
    return this.#ask({ case: "envStart", value }, "started", (reply) =>
      decodeStarted(reply, this.#begun(), slots, false),
    );
  }

  /** RL_env_step: env_step alone, with these actions; no next ones. */
  async envStep(actions: Answer, slots: readonly number[] = [0]): Promise<Stepped> {
    const rows = this.#rows("envStep", this.#spec?.actions, actions, slots, ACTIONS);
    const value = { slots: checkedSlots(slots), actions: rows };
    return this.#ask({ case: "envStep", value }, "stepped", (reply) =>
      decodeStepped(reply, this.#begun(), slots, false),
    );
  }

  /** RL_agent_start: agent_start alone; the actions that it returns are what `step` plays next. */
  async agentStart(observations: Answer, slots: readonly number[] = [0]): Promise<Arrays> {
    const value = {
      slots: checkedSlots(slots),
      observations: this.#seen("agentStart", observations, slots),
    };
    return this.#ask({ case: "agentStart", value }, "acted", (reply) =>
      decodeActed(reply, this.#begun(), slots),
    );
  }

  /** RL_agent_step: agent_step alone, likewise. */
  async agentStep(
    rewards: ArrayLike<number>,
    observations: Answer,
    slots: readonly number[] = [0],
  ): Promise<Arrays> {
    const value = {
      slots: checkedSlots(slots),
      rewards: bytesOf(Float64Array.from(rewards)),
      observations: this.#seen("agentStep", observations, slots),
    };
    return this.#ask({ case: "agentStep", value }, "acted", (reply) =>
      decodeActed(reply, this.#begun(), slots),
    );
  }

  /** RL_agent_end: agent_end alone, with the last observations. */
  async agentEnd(
    rewards: ArrayLike<number>,
    observations: Answer,
    slots: readonly number[] = [0],
    { truncated = false }: { readonly truncated?: boolean } = {},
  ): Promise<void> {
    const value = {
      slots: checkedSlots(slots),
      rewards: bytesOf(Float64Array.from(rewards)),
      observations: this.#seen("agentEnd", observations, slots),
      truncated,
    };
    return this.#ask({ case: "agentEnd", value }, "done", () => {});
  }

  #counts(slot: number): Promise<Counts> {
    return this.#ask(
      { case: "counts", value: { slot: checkedSlot(slot) } },
      "counts",
      (reply) => reply,
    );
  }

  #seen(routine: string, observations: Answer, slots: readonly number[]): Uint8Array[] {
    return this.#rows(routine, this.#spec?.observations, observations, slots, OBSERVATIONS);
  }

  /** The bytes of each tensor; none before RL_init, as the glue then says what comes first. */
  #rows(
    routine: string,
    tensors: readonly TensorSpec[] | undefined,
    answer: Answer,
    slots: readonly number[],
    kind: Kind,
  ): Uint8Array[] {
    if (tensors === undefined) return [];
    return conforming(tensors, { routine, answer, rows: slots.length }, kind).map(bytesOf);
  }

  #begun(): TaskSpec {
    if (this.#spec === undefined) throw new BadCall("rows before RL_init", "RL_init first");
    return this.#spec;
  }

  /** What `read` makes of the reply. Throws what the routine throws. */
  #ask<Case extends ExperimentReply["reply"]["case"] & string, Value>(
    call: Call,
    wanted: Case,
    read: (value: Reply<Case>) => Value,
  ): Promise<Value> {
    return this.#after(async () => {
      const { reply } = await this.#session.ask(call);
      const error = thrownBy(reply);
      if (error !== undefined) throw error;
      try {
        if (reply.case !== wanted) throw new BadCall(`an answer of kind ${reply.case}`, wanted);
        return read(reply.value as Reply<Case>);
      } catch (unreadable) {
        if (!(unreadable instanceof BadCall || unreadable instanceof SpecError)) throw unreadable;
        throw this.#session.lose(unreadable);
      }
    });
  }

  /** Run `act` when the calls before are over. */
  #after<Value>(act: () => Promise<Value>): Promise<Value> {
    const acted = this.#last.then(act);
    this.#last = acted.catch(() => {}); // who awaits the call is told
    return acted;
  }
}

/** Rows of one slot, one after another. */
function joined(tensors: readonly TensorSpec[], parts: readonly Arrays[]): Arrays {
  const arrays = Object.create(null) as Record<string, Rows>; // a tensor may have any name
  for (const { name, dtype, size, shape } of tensors) {
    const rows = new Rows(new (elementsType(dtype))(parts.length * size), parts.length, shape);
    parts.forEach((part, row) => rows.row(row).set(part[name]!.data as never)); // its dtype's
    arrays[name] = rows;
  }
  return arrays;
}
