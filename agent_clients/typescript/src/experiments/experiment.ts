/**
 * A benchmark program's end of a session: RL-Glue's routines, over slots.
 *
 * Source: the RL-Glue concepts page (1.0) and Tanner & White 2009, "RL-Glue: Language-Independent
 * Software for Reinforcement-Learning Experiments", JMLR 10 (3.0); where they differ, each form has
 * a name of its own.
 */
import type { Task } from "../environments/calls.js";
import { type Answer, type Awaitable, conforming, copied, type Kind } from "../conforming.js";
import { BadCall, RoutineRefused, SpecError, UsageError } from "../errors.js";
import type { Counts, ExperimentReply } from "../gen/reglue/v1/experiment_pb.js";
import { AskingSession } from "../net/asking_session.js";
import { checkedOptions, type ConnectOptions } from "../net/options.js";
import { type MainOptions, runProgram } from "../program.js";
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
  checkedNamed,
  checkedRewards,
  checkedSlot,
  checkedSlots,
  checkedText,
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

/** What slots play from a start on; by default what they played before. */
export interface GoalOptions {
  /** One of `tasks()`; by default the task that each slot plays already. */
  readonly task?: string | undefined;
  /** Of the task, from 0; 0 by default, if a task is named. */
  readonly variant?: number | undefined;
}

/** The answer of a call that is answered by `Case`. */
type Reply<Case> =
  Extract<ExperimentReply["reply"], { case: Case }> extends { value: infer Value } ? Value : never;

/** The error of rows that the glue would refuse. */
function misfit(what: string, got: string, wanted: string): RoutineRefused {
  return new RoutineRefused("WRONG_SIZE", `${what}: ${got}`, wanted);
}

const KINDS = {
  actions: { noun: "action", whereAre: "were they given?", misfit },
  observations: { noun: "observation", whereAre: "were they given?", misfit },
} satisfies Record<string, Kind>;

const CLOSING_MS = 5000; // for calls that are under way when the program leaves

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
    const { where, playing } = checkedOptions(options, "experiment", "experiment");
    const { timeoutS = 86_400 } = options;
    if (!(timeoutS > 0)) throw new UsageError(`got a timeout of ${timeoutS} s, wanted more than 0`);
    return new Experiment(await AskingSession.join(where, playing, 1000 * timeoutS));
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
    const timer = setTimeout(() => this.#session.giveUp(), CLOSING_MS);
    await this.#after(() => this.#session.leave());
    clearTimeout(timer);
  }

  /** RL_init: env_init, then agent_init. Counts are zero again. Returns the task. */
  async init(options: InitOptions = {}): Promise<TaskSpec> {
    const { slots = 1, seed = 0, task = "", variant = 0 } = checkedNamed(options);
    const value = {
      slots: Number(checked("slots", slots, MOST_UINT32, 1n)),
      seed: checked("seed", seed, MOST_SEED),
      task: checkedText("task", task),
      variant: Number(checked("variant", variant, MOST_UINT32)),
    };
    return this.#ask({ case: "init", value }, "spec", (spec) => (this.#spec = decodeSpec(spec)));
  }

  /** RL_tasks: what the environment can play, since `init`. */
  async tasks(): Promise<Task[]> {
    return this.#ask({ case: "tasks", value: {} }, "tasks", ({ tasks }) =>
      tasks.map(({ name, variants }) => ({ name, variants })),
    );
  }

  /**
   * RL_start: first observations and actions. An episode in play is cut off.
   *
   * The slots play `goal` from now on, if it names one; no episode may be in play there. The agent
   * is not told of goals, and keeps what it knows; a freeze goes on.
   */
  async start(slots: readonly number[] = [], goal: GoalOptions = {}): Promise<Started> {
    const [asked, chosen] = [checkedSlots(slots), checkedGoal(goal)];
    return this.#after(() => this.#start(asked, chosen));
  }

  /**
   * RL_iterate_goal: each slot's next start plays the next variant of its task, after the last one
   * the first. Where nothing was played since `init`, the next one is that of `init`.
   */
  async iterateGoal(slots: readonly number[] = []): Promise<void> {
    const value = { slots: checkedSlots(slots) };
    return this.#ask({ case: "iterateGoal", value }, "done", () => {});
  }

  /** RL_step in `slots`, or in all slots with an episode in play: plays the agent's pending action. */
  async step(slots: readonly number[] = []): Promise<Stepped> {
    const asked = checkedSlots(slots);
    return this.#after(() => this.#step(asked));
  }

  /**
   * RL_episode of 3.0: one episode in each slot; true if all ended by themselves.
   *
   * The start counts as the first of `maxSteps`; 0 means no limit. No agent_end follows a cut-off
   * episode. `goal` is as of `start`.
   */
  async episode(
    maxSteps: number | bigint = 0,
    slots: readonly number[] = [],
    goal: GoalOptions = {},
  ): Promise<boolean> {
    const value = {
      maxSteps: checked("maxSteps", maxSteps, MOST_UINT64),
      slots: checkedSlots(slots),
      ...checkedGoal(goal),
    };
    return this.#ask({ case: "episode", value }, "episode", decodeEnded);
  }

  /** RL_episode of 1.0: at most `steps` steps of the environment, and all of them. */
  async episodeTrajectory(steps: number | bigint, slot = 0): Promise<Trajectory> {
    const [most, slots] = [checked("steps", steps, MOST_UINT64), [checkedSlot(slot)]];
    return this.#after(() => this.#trajectory(most, slots));
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
    return this.#ask({ case: "cleanup", value: {} }, "done", () => {});
  }

  /** RL_freeze: agent_freeze. What follows is judged, until `init` or `adaptBegin`. */
  async freeze(): Promise<void> {
    return this.#ask({ case: "freeze", value: {} }, "done", () => {});
  }

  /**
   * RL_adapt_begin: adapt_begin. The agent returns to what it was before adaptation; it adapts in what
   * follows, until `freeze`. Throws NotSupported if it cannot. No episode may be in play: it has ended,
   * or was cut off by the limit of `episode`.
   */
  async adaptBegin(): Promise<void> {
    return this.#ask({ case: "adaptBegin", value: {} }, "done", () => {});
  }

  /**
   * RL_adapt: adapt. An adaptation step is over: the agent learns from its episodes, at least one,
   * since `adaptBegin` or the last `adapt`. None may be in play.
   */
  async adapt(): Promise<void> {
    return this.#ask({ case: "adapt", value: {} }, "done", () => {});
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
    const value = { slot: checkedSlot(slot), key: checkedText("key", key) };
    return this.#ask({ case: "setState", value }, "done", () => {});
  }

  /** RL_get_random_seed, during an episode: a key that names the state of the environment's generators. */
  async getRandomSeed(slot = 0): Promise<string> {
    const value = { slot: checkedSlot(slot) };
    return this.#ask({ case: "getRandomSeed", value }, "key", ({ key }) => key);
  }

  /** RL_set_random_seed: the environment's random numbers continue from there. */
  async setRandomSeed(key: string, slot = 0): Promise<void> {
    const value = { slot: checkedSlot(slot), key: checkedText("key", key) };
    return this.#ask({ case: "setRandomSeed", value }, "done", () => {});
  }

  /** RL_agent_message; legal at any time. */
  async agentMessage(text: string): Promise<string> {
    const value = { text: checkedText("message", text) };
    return this.#ask({ case: "agentMessage", value }, "message", (reply) => reply.text);
  }

  /** RL_env_message; legal at any time. */
  async envMessage(text: string): Promise<string> {
    const value = { text: checkedText("message", text) };
    return this.#ask({ case: "envMessage", value }, "message", (reply) => reply.text);
  }

  // Half steps, for programs that change what passes between agent and environment. Rows are as
  // `slots`, and are cast to the spec's dtypes as an agent's actions are.

  /** RL_env_start: env_start alone; no actions. The agent is not told. `goal` is as of `start`. */
  async envStart(slots: readonly number[] = [], goal: GoalOptions = {}): Promise<Started> {
    const asked = checkedSlots(slots);
    const value = { slots: asked, ...checkedGoal(goal) };
    return this.#ask({ case: "envStart", value }, "started", (reply) =>
      decodeStarted(reply, this.#begun(), asked, false),
    );
  }

  /** RL_env_step: env_step alone, with these actions; no next ones. */
  async envStep(actions: Answer, slots: readonly number[] = [0]): Promise<Stepped> {
    const [given, asked] = [copied(actions), checkedSlots(slots)];
    const call = (): Call => ({
      case: "envStep",
      value: { slots: asked, actions: this.#rows("envStep", "actions", given, asked) },
    });
    return this.#ask(call, "stepped", (reply) => decodeStepped(reply, this.#begun(), asked, false));
  }

  /** RL_agent_start: agent_start alone; the actions that it returns are what `step` plays next. */
  async agentStart(observations: Answer, slots: readonly number[] = [0]): Promise<Arrays> {
    const [given, asked] = [copied(observations), checkedSlots(slots)];
    const call = (): Call => ({
      case: "agentStart",
      value: { slots: asked, observations: this.#rows("agentStart", "observations", given, asked) },
    });
    return this.#ask(call, "acted", (reply) => decodeActed(reply, this.#begun(), asked));
  }

  /** RL_agent_step: agent_step alone, likewise. */
  async agentStep(
    rewards: ArrayLike<number>,
    observations: Answer,
    slots: readonly number[] = [0],
  ): Promise<Arrays> {
    const [given, asked] = [copied(observations), checkedSlots(slots)];
    const earned = bytesOf(checkedRewards(rewards));
    const call = (): Call => ({
      case: "agentStep",
      value: {
        slots: asked,
        rewards: earned,
        observations: this.#rows("agentStep", "observations", given, asked),
      },
    });
    return this.#ask(call, "acted", (reply) => decodeActed(reply, this.#begun(), asked));
  }

  /** RL_agent_end: agent_end alone, with the last observations. */
  async agentEnd(
    rewards: ArrayLike<number>,
    observations: Answer,
    slots: readonly number[] = [0],
    options: { readonly truncated?: boolean } = {},
  ): Promise<void> {
    const [given, asked] = [copied(observations), checkedSlots(slots)];
    const earned = bytesOf(checkedRewards(rewards));
    const { truncated = false } = checkedNamed(options);
    const call = (): Call => ({
      case: "agentEnd",
      value: {
        slots: asked,
        rewards: earned,
        observations: this.#rows("agentEnd", "observations", given, asked),
        truncated,
      },
    });
    return this.#ask(call, "done", () => {});
  }

  #start(slots: number[], goal: ReturnType<typeof checkedGoal> = {}): Promise<Started> {
    return this.#exchange({ case: "start", value: { slots, ...goal } }, "started", (reply) =>
      decodeStarted(reply, this.#begun(), slots, true),
    );
  }

  #step(slots: number[]): Promise<Stepped> {
    return this.#exchange({ case: "step", value: { slots } }, "stepped", (reply) =>
      decodeStepped(reply, this.#begun(), slots, true),
    );
  }

  async #trajectory(steps: bigint, slots: number[]): Promise<Trajectory> {
    const started = await this.#start(slots);
    const rows = [started as { observations: Arrays; actions: Arrays }];
    const rewards: number[] = [];
    let [terminated, truncated] = [false, false];
    while (!terminated && !truncated && rewards.length < steps) {
      const stepped = await this.#step(slots);
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

  #counts(slot: number): Promise<Counts> {
    return this.#ask(
      { case: "counts", value: { slot: checkedSlot(slot) } },
      "counts",
      (reply) => reply,
    );
  }

  /**
   * The bytes of each tensor, of the task that is played when the call's turn comes; none before
   * RL_init, as the glue then says what comes first.
   */
  #rows(
    routine: string,
    what: "actions" | "observations",
    answer: Answer,
    slots: readonly number[],
  ): Uint8Array[] {
    if (this.#spec === undefined) return [];
    const part = { routine, answer, rows: slots.length };
    return conforming(this.#spec[what], part, KINDS[what]).map(bytesOf);
  }

  #begun(): TaskSpec {
    if (this.#spec === undefined) throw new BadCall("rows before RL_init", "RL_init first");
    return this.#spec;
  }

  /** As `#exchange`, when the calls before are over; a function makes the call then. */
  #ask<Case extends ExperimentReply["reply"]["case"] & string, Value>(
    call: Call | (() => Call),
    wanted: Case,
    read: (value: Reply<Case>) => Value,
  ): Promise<Value> {
    return this.#after(() =>
      this.#exchange(typeof call === "function" ? call() : call, wanted, read),
    );
  }

  /** What `read` makes of the reply. Throws what the routine throws. */
  async #exchange<Case extends ExperimentReply["reply"]["case"] & string, Value>(
    call: Call,
    wanted: Case,
    read: (value: Reply<Case>) => Value,
  ): Promise<Value> {
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
  }

  /** Run `act` when the calls before are over. */
  #after<Value>(act: () => Promise<Value>): Promise<Value> {
    const acted = this.#last.then(act);
    this.#last = acted.catch(() => {}); // who awaits the call is told
    return acted;
  }
}

/** The field of a start's goal; none if it names none. */
function checkedGoal(options: GoalOptions): { goal?: { task: string; variant: number } } {
  const { task, variant } = checkedNamed(options);
  if (task === undefined && variant === undefined) return {};
  return {
    goal: {
      task: checkedText("task", task ?? ""),
      variant: Number(checked("variant", variant ?? 0, MOST_UINT32)),
    },
  };
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
