/**
 * The agent's side of RL-Glue, over slots.
 *
 * `Agent.turn` is the primitive: one exchange over all episodes in play. The routines that people
 * write, `agentStart`, `agentStep` and `agentEnd` (RL-Glue's names and argument order), are
 * derived from it.
 */
import { type Awaitable, type Kind, type Part, stacked } from "../conforming.js";
import { BadAnswer, NotAnAgent, UsageError } from "../errors.js";
import { Phase } from "../phase.js";
import type { Arrays, TaskSpec } from "../spec.js";
import {
  Actions,
  type Budget,
  type Chosen,
  type Ends,
  type Starts,
  type Steps,
  type Turn,
  UNLIMITED,
} from "./calls.js";
import { type Goals, SeenGoals, goalsOf } from "./goals.js";

/** Sets what an agent knows of its task. */
interface Tell {
  task(agent: Agent, spec: TaskSpec): void;
  turn(agent: Agent, turn: Turn): void;
  budget(agent: Agent, budget: Budget): void;
}

/** For the session alone: to everybody else an agent's `spec`, `phase` and `budget` are readonly. */
export let tell: Tell;

/**
 * Derive from it and write `agentStart` and `agentStep`, or `turn`.
 *
 * Observations are named tensors with one row a slot; actions are returned as rows of the only
 * action tensor, or as an object of such rows if the task has several. Numbers are cast to the
 * spec's dtype; an integer that does not fit it is a BadAnswer.
 *
 * Observations and rewards are views of the received message; they stay valid.
 */
export abstract class Agent {
  #spec: TaskSpec | undefined;
  #phase = Phase.Train;
  #budget = UNLIMITED;
  #goals: SeenGoals | undefined;

  static {
    tell = {
      task(agent, spec) {
        agent.#spec = spec;
        agent.#goals = goalsOf(spec);
      },
      turn(agent, turn) {
        agent.#phase = turn.phase;
        agent.#goals?.see(turn);
      },
      budget(agent, budget) {
        agent.#budget = budget;
      },
    };
  }

  /** What to play, from `agentInit` on. Throws UsageError before. */
  get spec(): TaskSpec {
    if (this.#spec === undefined) {
      throw new UsageError("there is no task before agentInit(); read spec there or later");
    }
    return this.#spec;
  }

  /** Of the present turn. */
  get phase(): Phase {
    return this.#phase;
  }

  /** Time left at the present call. */
  get budget(): Budget {
    return this.#budget;
  }

  /** What `getGoal` returns; undefined if the task shows no goals. */
  get seenGoals(): Goals | undefined {
    return this.#goals;
  }

  /** Most slots the agent plays at once; 0 means any number. */
  get maxSlots(): number {
    return 0;
  }

  /** True if a turn may leave live slots out. */
  get partialTurns(): boolean {
    return false;
  }

  /** False if it cannot handle an episode's end: then it plays only continuing tasks. */
  get episodic(): boolean {
    return true;
  }

  /**
   * True if the agent answers adaptBegin and adapt; by default, if it has either.
   *
   * Override it for an agent that learns as it plays, or for a baseline that is judged as it is.
   */
  get adapts(): boolean {
    return this.adaptBegin !== Agent.prototype.adaptBegin || this.adapt !== Agent.prototype.adapt;
  }

  /**
   * The newest goal seen in `slot`, by the names of its tensors: copies, of one row each.
   *
   * The names of goal tensors are or end in `desired_goal`, such as `state_desired_goal`. Throws
   * UsageError if the task shows no goal, nothing was seen in that slot yet, or there is no such
   * slot.
   */
  getGoal(slot: number): Arrays {
    if (this.#goals === undefined) {
      const names = this.spec.observations.map(({ name }) => name).join(", ");
      throw new UsageError(`got a task that shows ${names}, wanted a tensor called desired_goal`);
    }
    return this.#goals.of(slot);
  }

  /** Forget everything learned before. */
  agentInit(spec: TaskSpec): Awaitable<void> {}

  /** Choose the first action of each episode that begins. */
  agentStart(observations: Arrays, starts: Starts): Awaitable<Chosen> {
    throw new NotAnAgent(`${this.constructor.name} lacks agentStart()`);
  }

  /** Choose the next action of each episode that continues. */
  agentStep(rewards: Float64Array, observations: Arrays, steps: Steps): Awaitable<Chosen> {
    throw new NotAnAgent(`${this.constructor.name} lacks agentStep()`);
  }

  /** Take the last reward and observation of each episode that ended. */
  agentEnd(rewards: Float64Array, observations: Arrays, ends: Ends): Awaitable<void> {}

  /** Stop learning and exploring: what follows is judged. */
  agentFreeze(): Awaitable<void> {}

  /** Answer a message from the benchmark. */
  agentMessage(message: string): Awaitable<string> {
    return "";
  }

  /** Release what `agentInit` took. */
  agentCleanup(): Awaitable<void> {}

  /** Return to the meta-trained state; a new wave of trials begins. */
  adaptBegin(): Awaitable<void> {}

  /** Learn from the episodes since `adaptBegin` or the last `adapt`. */
  adapt(): Awaitable<void> {}

  /** Answer a whole turn: rows for its steps, then for its starts. */
  turn(turn: Turn): Awaitable<Actions | Chosen> {
    return byRoutines(this, turn);
  }
}

/** Throws NotAnAgent, naming the routine, if `agent` cannot play a turn. */
export function checkAgent(agent: unknown): asserts agent is Agent {
  if (!(agent instanceof Agent)) {
    const got = typeof agent === "function" ? `${agent.name}, a class or function` : String(agent);
    throw new NotAnAgent(
      `got ${got}, wanted an object of a class that extends Agent or Environment`,
    );
  }
  if (agent.turn !== Agent.prototype.turn) return;
  for (const name of ["agentStart", "agentStep"] as const) {
    if (agent[name] === Agent.prototype[name]) {
      const lacking = `${agent.constructor.name} lacks ${name}()`;
      throw new NotAnAgent(`${lacking}; write agentStart() and agentStep(), or turn()`);
    }
  }
}

/** How errors call an agent's answers. */
export const ACTIONS: Kind = {
  noun: "action",
  hint: "does it return them?",
  misfit: (what, got, wanted) => new BadAnswer(what, got, wanted),
};

async function byRoutines(agent: Agent, turn: Turn): Promise<Chosen> {
  const { ends, steps, starts, rewards } = turn;
  const ended = ends.slots.length;
  const stepped = ended + steps.slots.length;
  if (ended > 0) {
    await agent.agentEnd(rewards.subarray(0, ended), rowsOf(turn, 0, ended), ends);
  }
  const parts: Part[] = [];
  if (steps.slots.length > 0) {
    const observations = rowsOf(turn, ended, stepped);
    const answer = await agent.agentStep(rewards.subarray(ended), observations, steps);
    parts.push(partOf("agentStep", answer, steps.slots.length));
  }
  if (starts.slots.length > 0) {
    const observations = rowsOf(turn, stepped, stepped + starts.slots.length);
    const answer = await agent.agentStart(observations, starts);
    parts.push(partOf("agentStart", answer, starts.slots.length));
  }
  const elements = stacked(agent.spec.actions, parts, ACTIONS);
  return Object.fromEntries(agent.spec.actions.map(({ name }, i) => [name, elements[i]!]));
}

function partOf(routine: string, answer: Chosen, rows: number): Part {
  if (!(answer instanceof Actions)) return { routine, answer, rows };
  throw new BadAnswer(
    `${routine}()`,
    "Actions",
    "rows of actions; only turn() may abandon episodes",
  );
}

/** The rows `start` up to `stop` of each observation. */
function rowsOf(turn: Turn, start: number, stop: number): Arrays {
  const arrays = Object.create(null) as Record<string, Arrays[string]>;
  for (const name in turn.observations) {
    arrays[name] = turn.observations[name]!.slice(start, stop);
  }
  return arrays;
}
