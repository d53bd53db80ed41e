import assert from "node:assert/strict";
import { test } from "node:test";

import { ConformanceAgent } from "../conformance/agent.js";
import { draw, fold, START } from "../conformance/rule.js";
import { specWords } from "../conformance/words.js";
import { EndKind, type Turn } from "../src/agents/calls.js";
import { Phase } from "../src/phase.js";
import { play } from "../src/agents/dispatch.js";
import { Rows } from "../src/spec.js";
import { block, entries, unhex } from "./pages.js";
import { readmeSpec } from "./specs.js";

const PAGE = "proto/CONFORMANCE.md";

test("a TaskSpec's words are the page's, but for how numbers are written", () => {
  const wanted = block(PAGE, "text spec").replaceAll(".0", "");
  assert.equal(specWords(readmeSpec()), wanted);
});

test("the page's slot is played to the byte", async () => {
  const wanted = [...block(PAGE, "text agent").split("\n")].map((line) => line.split(/\s+/));
  const rows = wanted.filter(([name]) => ["start", "step", "end"].includes(name!));
  const memories = wanted.flatMap(([name, word]) => (name === "memory" ? [word] : []));
  let memory = START;
  const folded = rows.map(([, ...digits]) => (memory = fold(memory, unhex(digits.join("")))));
  assert.deepEqual(
    folded.map((each) => each.toString(16).padStart(8, "0")),
    memories,
  );
  const draws = entries(PAGE, "text agent").get("draws")!.split(" ");
  assert.equal(draw(folded[1]!, 0).toString(16), draws[0]);
});

test("the agent acts in the page's slot as the page says", async () => {
  const agent = new ConformanceAgent();
  await play(agent, { kind: "init", spec: readmeSpec() });
  const start = await play(agent, { kind: "turn", turn: turn({ starts: [2] }, [0, 1], 0) });
  const step = await play(agent, { kind: "turn", turn: turn({ steps: [2] }, [0.25, 3], 1) });
  const end = await play(agent, { kind: "turn", turn: turn({ ends: [2] }, [1.5, -2], 1) });
  assert(start?.kind === "actions" && step?.kind === "actions" && end?.kind === "actions");
  assert.deepEqual(start.actions, [Float32Array.of(-0.796875, 0.25), Int16Array.of(0)]);
  assert.deepEqual(step.actions, [Float32Array.of(0.8671875, -0.359375), Int16Array.of(1)]);
  assert.deepEqual(end.actions, [new Float32Array(0), new Int16Array(0)]);
});

/** A turn of one row. */
function turn(
  slots: { ends?: number[]; steps?: number[]; starts?: number[] },
  position: [number, number],
  door: number,
): Turn {
  const { ends = [], steps = [], starts = [] } = slots;
  return {
    phase: Phase.Train,
    ends: { slots: Uint32Array.from(ends), kinds: Uint8Array.from(ends, () => EndKind.Truncated) },
    steps: { slots: Uint32Array.from(steps), flags: Uint8Array.from(steps, () => 2) },
    starts: {
      slots: Uint32Array.from(starts),
      seeds: BigUint64Array.from(starts, () => 0x0123456789abcdefn),
    },
    rewards: Float64Array.from([...ends.map(() => 1), ...steps.map(() => -0.25)]),
    observations: {
      position: new Rows(Float64Array.from(position), 1, [2]),
      door_open: new Rows(Uint8Array.of(door), 1, []),
    },
  };
}
