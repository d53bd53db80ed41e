import assert from "node:assert/strict";
import { test } from "node:test";

import { readmeSpec } from "./specs.js";
import { Agent } from "../src/agents/agent.js";
import { play } from "../src/agents/dispatch.js";
import type { Chosen, Starts, Steps } from "../src/agents/calls.js";
import { UsageError } from "../src/errors.js";
import { Phase } from "../src/phase.js";
import { type Arrays, type Dtype, type Elements, Rows, TensorSpec } from "../src/spec.js";

const STATE = tensor("observation", [3]);
const GOAL = tensor("desired_goal", [2]);

/** Answers a start with its goal. */
class Reader extends Agent {
  override agentStart(_: Arrays, { slots }: Starts): Chosen {
    return Array.from(slots, (slot) => this.getGoal(slot)["desired_goal"]?.numbers(0) ?? [0, 0]);
  }

  override agentStep(_rewards: Float64Array, _: Arrays, { slots }: Steps): Chosen {
    return new Float64Array(2 * slots.length);
  }
}

test("getGoal returns the newest goal of a slot", async () => {
  const agent = await reader([STATE, GOAL]);
  await turn(agent, { starts: [2, 0] }, [1, 2]);
  assert.deepEqual(goal(agent, 2), Float64Array.of(1, 1));
  await turn(agent, { steps: [2] }, [3]);
  assert.deepEqual(goal(agent, 2), Float64Array.of(3, 3));
  assert.deepEqual(goal(agent, 0), Float64Array.of(2, 2)); // not in that turn
});

test("if a slot ends and starts in one turn, the start counts", async () => {
  const agent = await reader([STATE, GOAL]);
  await turn(agent, { ends: [1, 2], steps: [0], starts: [1] }, [1, 2, 3, 4]);
  assert.deepEqual(goal(agent, 1), Float64Array.of(4, 4));
  assert.deepEqual(goal(agent, 0), Float64Array.of(3, 3));
  assert.deepEqual(goal(agent, 2), Float64Array.of(2, 2)); // only ends
});

test("agentStart already sees the goal", async () => {
  const agent = await reader([STATE, GOAL]);
  const reply = await turn(agent, { starts: [1, 0] }, [7, 8]);
  assert(reply?.kind === "actions");
  assert.deepEqual(reply.actions, [Float64Array.of(7, 7, 8, 8)]);
});

test("a goal is a copy, one row in the tensor's shape", async () => {
  const agent = await reader([STATE, GOAL]);
  await turn(agent, { starts: [0] }, [1]);
  const desired = agent.getGoal(0)["desired_goal"]!;
  assert.deepEqual([desired.length, desired.shape], [1, [2]]);
  desired.data.fill(9 as never);
  assert.deepEqual(goal(agent, 0), Float64Array.of(1, 1));
});

test("goals are known by the end of their names, and may have parts and any dtype", async () => {
  const agent = await reader([
    tensor("state_desired_goal", []),
    tensor("desired_goal/kettle", [2], "int64"),
    tensor("__proto__/desired_goal", []),
    tensor("achieved_goal", []),
    tensor("desired_goals", []),
  ]);
  await turn(agent, { starts: [0] }, [7]);
  const goals = agent.getGoal(0);
  assert.deepEqual(Object.keys(goals), [
    "state_desired_goal",
    "desired_goal/kettle",
    "__proto__/desired_goal",
  ]);
  assert.deepEqual(goals["desired_goal/kettle"]!.data, BigInt64Array.of(7n, 7n));
});

test("a task without a goal is refused", async () => {
  const agent = await reader([STATE]);
  assert.throws(() => agent.getGoal(0), {
    name: "UsageError",
    message: "got a task that shows observation, wanted a tensor called desired_goal",
  });
});

test("a slot without a goal yet and an unknown slot are refused", async () => {
  const agent = await reader([STATE, GOAL]);
  await turn(agent, { starts: [0] }, [1]);
  assert.throws(() => agent.getGoal(1), /^UsageError: nothing was seen in slot 1 yet/);
  for (const slot of [3, -1, 0.5]) {
    assert.throws(() => agent.getGoal(slot), new RegExp(`got slot ${slot}, wanted 0 to 2`));
  }
});

test("a new task forgets the goals of the last one", async () => {
  const agent = await reader([STATE, GOAL]);
  await turn(agent, { starts: [0] }, [1]);
  await play(agent, { kind: "init", spec: agent.spec });
  assert.throws(() => agent.getGoal(0), UsageError);
});

function tensor(name: string, shape: number[], dtype: Dtype = "float64"): TensorSpec {
  return new TensorSpec(name, dtype, shape, { kind: "box", low: [], high: [] });
}

/** A reader whose task has three slots. */
async function reader(observations: TensorSpec[]): Promise<Reader> {
  const agent = new Reader();
  const spec = { ...readmeSpec(), observations, actions: [tensor("action", [2])], slots: 3 };
  await play(agent, { kind: "init", spec });
  return agent;
}

/** Row i of every tensor is all `numbers[i]`. */
function turn(
  agent: Agent,
  { ends = [], steps = [], starts = [] }: Partial<Record<"ends" | "steps" | "starts", number[]>>,
  numbers: number[],
) {
  const observations: Record<string, Rows> = {};
  for (const { name, dtype, shape, size } of agent.spec.observations) {
    const repeated = numbers.flatMap((number) => new Array<number>(size).fill(number));
    const data: Elements =
      dtype === "int64" ? BigInt64Array.from(repeated, BigInt) : Float64Array.from(repeated);
    observations[name] = new Rows(data, numbers.length, shape);
  }
  return play(agent, {
    kind: "turn",
    turn: {
      phase: Phase.Train,
      ends: { slots: Uint32Array.from(ends), kinds: new Uint8Array(ends.length).fill(1) },
      steps: { slots: Uint32Array.from(steps), flags: new Uint8Array(steps.length) },
      starts: { slots: Uint32Array.from(starts), seeds: new BigUint64Array(starts.length) },
      rewards: new Float64Array(ends.length + steps.length),
      observations,
    },
  });
}

function goal(agent: Agent, slot: number): Elements {
  return agent.getGoal(slot)["desired_goal"]!.data;
}
