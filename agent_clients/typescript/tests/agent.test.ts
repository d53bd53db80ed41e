import assert from "node:assert/strict";
import { test } from "node:test";

import { Agent } from "../src/agents/agent.js";
import { play } from "../src/agents/dispatch.js";
import { Phase } from "../src/phase.js";
import { readmeSpec } from "./specs.js";

class Pacifist extends Agent {
  override agentStart = () => ({ force: [0, 0], grip: 0 });
  override agentStep = () => ({ force: [0, 0], grip: 0 });
}

test("nobody but the session writes what an agent is told", async () => {
  const agent = new Pacifist();
  await play(agent, { kind: "init", spec: readmeSpec() });
  const writable = agent as { -readonly [name in keyof Agent]: Agent[name] };
  const told = {
    spec: { ...readmeSpec(), slots: 7 },
    phase: Phase.Evaluate,
    budget: { ...agent.budget, stepUs: 1n },
    seenGoals: { of: () => ({}) },
  };
  for (const name of ["spec", "phase", "budget", "seenGoals"] as const) {
    assert.throws(() => Object.assign(writable, { [name]: told[name] }), TypeError, name);
  }
  assert.deepEqual([agent.spec, agent.phase], [readmeSpec(), Phase.Train]);
});

test("an agent that reads its task before it has one is told when to", () => {
  assert.throws(() => new Pacifist().spec, /^UsageError: there is no task before agentInit\(\)/);
});

test("a unit test gives an agent its task as its own property", () => {
  const agent = new Pacifist();
  Object.defineProperty(agent, "spec", { value: readmeSpec() });
  assert.equal(agent.spec.slots, 4);
});
