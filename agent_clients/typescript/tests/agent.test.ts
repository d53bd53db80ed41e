import assert from "node:assert/strict";
import { test } from "node:test";

import { Agent } from "../src/agents/agent.js";
import { Actions, type Reply, type Turn } from "../src/agents/calls.js";
import { play } from "../src/agents/dispatch.js";
import { type AgentEpisode, EpisodeAgent } from "../src/agents/episode_agent.js";
import { Phase } from "../src/phase.js";
import { readmeSpec } from "./specs.js";

class Pacifist extends Agent {
  override agentStart = () => ({ force: [0, 0], grip: 0 });
  override agentStep = () => ({ force: [0, 0], grip: 0 });
}

test("only the session writes an agent's task, phase, budget and goals", async () => {
  const agent = new Pacifist();
  await play(agent, { kind: "init", spec: readmeSpec() });
  const writable = agent as { -readonly [name in keyof Agent]: Agent[name] };
  const values = {
    spec: { ...readmeSpec(), slots: 7 },
    phase: Phase.Evaluate,
    budget: { ...agent.budget, stepUs: 1n },
    seenGoals: { of: () => ({}) },
  };
  for (const name of ["spec", "phase", "budget", "seenGoals"] as const) {
    assert.throws(() => Object.assign(writable, { [name]: values[name] }), TypeError, name);
  }
  assert.deepEqual([agent.spec, agent.phase], [readmeSpec(), Phase.Train]);
});

test("an agent that reads its task before agentInit() gets a UsageError", () => {
  assert.throws(() => new Pacifist().spec, /^UsageError: there is no task before agentInit\(\)/);
});

test("a unit test gives an agent its task by defineProperty", () => {
  const agent = new Pacifist();
  Object.defineProperty(agent, "spec", { value: readmeSpec() });
  assert.equal(agent.spec.slots, 4);
});

/** Slot 0 starts. */
const START: Turn = {
  phase: Phase.Train,
  ends: { slots: new Uint32Array(), kinds: new Uint8Array() },
  steps: { slots: new Uint32Array(), flags: new Uint8Array() },
  starts: { slots: Uint32Array.of(0), seeds: BigUint64Array.of(1n) },
  rewards: new Float64Array(),
  observations: {},
};

async function started(agent: Agent): Promise<Reply> {
  await play(agent, { kind: "init", spec: readmeSpec() });
  return play(agent, { kind: "turn", turn: START });
}

for (const [why, episode, words] of [
  ["no episode", undefined, /^NotAnAgent: newEpisode\(\) returned no object with start/],
  [
    "half an episode",
    { start: () => 0 },
    /^NotAnAgent: newEpisode\(\) returned no object with start/,
  ],
  [
    "null for an action",
    { start: () => null, step: () => 0 },
    /^BadAnswer: agentStart\(\): got rows without a name/,
  ],
] as [string, unknown, RegExp][]) {
  test(`an agent that answers ${why} throws with what it should answer`, async () => {
    class Wrong extends EpisodeAgent {
      override newEpisode = () => episode as AgentEpisode;
    }
    await assert.rejects(started(new Wrong()), words);
  });
}

for (const [abandon, got] of [
  [null, "null"],
  [5, "5"],
  [[null], "null"],
  [[0, 1], "0, 1"],
  [[-1], "-1"],
] as const) {
  test(`abandoning ${JSON.stringify(abandon)} throws with the slots that can be`, async () => {
    class Wrong extends Pacifist {
      override turn = () => new Actions({ force: [0, 0], grip: 0 }, abandon as never);
    }
    const words = `turn(): abandon: got ${got}, wanted a list of slots that step or start`;
    await assert.rejects(started(new Wrong()), { name: "BadAnswer", message: words });
  });
}
