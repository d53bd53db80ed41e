import assert from "node:assert/strict";
import { test } from "node:test";

import { readmeSpec } from "./specs.js";
import { ACTIONS } from "../src/agents/agent.js";
import type { Chosen } from "../src/agents/calls.js";
import { conforming, stacked } from "../src/conforming.js";
import { BadAnswer } from "../src/errors.js";
import { type Dtype, Rows, type TaskSpec, TensorSpec } from "../src/spec.js";

test("numbers may be typed, nested, named or alone", () => {
  const spec = only("float32", [2]);
  const wanted = [Float32Array.of(1, 2, 3, 4)];
  for (const answer of [
    [1, 2, 3, 4],
    [
      [1, 2],
      [3, 4],
    ],
    [Float64Array.of(1, 2), Float32Array.of(3, 4)],
    Float64Array.of(1, 2, 3, 4),
    new Rows(Int8Array.of(1, 2, 3, 4), 2, [2]),
    { a: [1n, 2n, 3n, 4n] },
  ]) {
    assert.deepEqual(cast(spec, answer, 2), wanted);
  }
  assert.deepEqual(cast(only("bool", []), true, 1), [Uint8Array.of(1)]);
});

test("an array of the spec's dtype is not copied", () => {
  const floats = Float32Array.of(1, 2);
  assert.equal(cast(only("float32", [2]), floats, 1)[0], floats);
});

for (const [dtype, good, bad] of [
  ["uint8", [0, 255], [-1, 256, 0.5, NaN, Infinity, 256n, "1"]],
  ["int8", [-128, 127], [-129, 128, 2 ** 32]],
  ["uint32", [0, 2 ** 32 - 1], [2 ** 32, -1]],
  ["int32", [-(2 ** 31), 2 ** 31 - 1], [2 ** 31]],
  ["bool", [0, 1, true, false, 1n], [2, -1, 0.5]],
  ["uint64", [0n, 2n ** 64n - 1n, 2 ** 53 - 1], [-1n, 2n ** 64n, 2 ** 53, 2 ** 64, 0.5]],
  ["int64", [-(2n ** 63n), 2n ** 63n - 1n, -7], [2n ** 63n, -(2 ** 53), NaN]],
] as [Dtype, never[], never[]][]) {
  test(`a value outside of ${dtype} is refused: nothing wraps around`, () => {
    for (const number of good) {
      assert.equal(BigInt(cast(only(dtype, []), [number], 1)[0]![0]!), BigInt(number));
    }
    for (const number of bad) {
      assert.throws(() => cast(only(dtype, []), [number], 1), {
        name: "BadAnswer",
        got: String(number),
        wanted: new RegExp(`an integer from .* \\(${dtype}\\)`),
      });
    }
  });
}

test("an integer that a float would round is refused", () => {
  const [most, more] = [2n ** 53n, 2n ** 53n + 1n];
  assert.equal(cast(only("float64", []), [most], 1)[0]![0], 2 ** 53);
  for (const given of [[more], BigInt64Array.of(more), [10n ** 400n]]) {
    assert.throws(() => cast(only("float64", []), given, 1), {
      name: "BadAnswer",
      got: String(given[0]),
    });
  }
  const rows = new Rows(BigInt64Array.of(7n, -most, more, 9n), 2, [2]);
  assert.deepEqual(rows.numbers(0), Float64Array.of(7, -(2 ** 53)));
  assert.throws(() => rows.numbers(1), { name: "UsageError", message: new RegExp(`got ${more},`) });
});

test("a byte that is neither 0 nor 1 is no bool", () => {
  assert.throws(() => cast(only("bool", [2]), Uint8Array.of(1, 7), 1), { got: "7" });
});

test("a wrong count of numbers is refused with both counts", () => {
  assert.throws(() => cast(only("float32", [2]), [1, 2, 3], 2), {
    name: "BadAnswer",
    message: "turn(): action a: got 3 numbers, wanted 4: 2 rows of float32[2]",
  });
  assert.throws(() => cast(only("float32", [2]), new Float32Array(3), 2), BadAnswer);
  assert.throws(() => cast(only("float32", []), [1], 0), BadAnswer);
});

test("numbers of another shape are refused: one row a slot", () => {
  const columns = [
    [1, 2],
    [3, 4],
    [5, 6],
  ];
  assert.throws(() => cast(only("float32", [3]), columns, 2), {
    name: "BadAnswer",
    message: "turn(): action a: got shape [3,2], wanted [2,3]: one row a slot",
  });
  assert.deepEqual([...cast(only("float32", [3]), [[1, 2, 3]], 1)[0]!], [1, 2, 3]);
  assert.deepEqual([...cast(only("float32", []), [[1], [2]], 2)[0]!], [1, 2]);
  assert.deepEqual([...cast(only("float32", [1]), [1, 2], 2)[0]!], [1, 2]);
});

for (const [why, answer] of [
  ["are longer than the first", [[1], [2, 3], [4]]],
  ["are shorter than the first, and others longer", [[1, 2], [3], [4, 5, 6]]],
  ["begin with a number", [1, [2, 3], 4]],
  ["are uneven inside", [[[1], [2, 3]], [[4]]]],
] as [string, Chosen][]) {
  test(`rows that ${why} are refused, even if their count is right`, () => {
    const rows = JSON.stringify(answer).match(/\d/g)!.length / 2;
    assert.throws(() => cast(only("float32", [2]), answer, rows), {
      name: "BadAnswer",
      message: `turn(): action a: got rows of different lengths, wanted [${rows},2]: one row a slot`,
    });
  });
}

test("rows of one number may be numbers, too", () => {
  assert.deepEqual([...cast(only("float32", []), [1, [2], 3], 3)[0]!], [1, 2, 3]);
});

test("no answer, other names, and rows without a name for several tensors are refused", () => {
  const spec = readmeSpec();
  const wanted = "actions by name: force, grip";
  assert.throws(() => cast(spec, { force: [1, 2] }, 1), { got: "force", wanted });
  assert.throws(() => cast(spec, { force: [1, 2], gripp: 1 }, 1), { got: "force, gripp", wanted });
  assert.throws(() => cast(spec, [1, 2], 1), { got: "rows without a name", wanted });
  assert.throws(() => cast(spec, undefined as never, 1), { got: "undefined" });
  assert.throws(() => cast(only("float32", []), [null] as never, 1), { got: "null" });
});

test("no rows need no answer", () => {
  assert.deepEqual(cast(readmeSpec(), {}, 0), [new Float32Array(0), new Int16Array(0)]);
});

test("steps come before starts, tensor by tensor", () => {
  const parts = [
    { routine: "agentStep", answer: { force: [1, 2, 3, 4], grip: [0, 1] }, rows: 2 },
    { routine: "agentStart", answer: { grip: -1, force: [5, 6] }, rows: 1 },
  ];
  const { actions } = readmeSpec();
  assert.deepEqual(stacked(actions, parts, ACTIONS), [
    Float32Array.of(1, 2, 3, 4, 5, 6),
    Int16Array.of(0, 1, -1),
  ]);
  const bad = [parts[0]!, { ...parts[1]!, answer: { grip: 0, force: 5 } }];
  assert.throws(
    () => stacked(actions, bad, ACTIONS),
    /^BadAnswer: agentStart\(\): action force: got 1/,
  );
});

function cast(spec: TaskSpec, answer: Chosen, rows: number) {
  return conforming(spec.actions, { routine: "turn", answer, rows }, ACTIONS);
}

function only(dtype: Dtype, shape: number[]): TaskSpec {
  const tensor = new TensorSpec("a", dtype, shape, { kind: "box", low: [], high: [] });
  return { ...readmeSpec(), actions: [tensor] };
}
