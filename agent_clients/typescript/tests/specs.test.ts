import assert from "node:assert/strict";
import { test } from "node:test";

import { create, type MessageInitShape } from "@bufbuild/protobuf";

import { BadCall, SpecError } from "../src/errors.js";
import { AgentCallSchema } from "../src/gen/reglue/v1/agent_pb.js";
import { Dtype, type TensorSpecSchema } from "../src/gen/reglue/v1/spec_pb.js";
import { type DomainDescription, taskSpec, TensorSpec } from "../src/spec.js";
import { decodeCall, readMessage } from "../src/wire/agent.js";
import { decodeSpec, encodeSpec } from "../src/wire/specs.js";
import { bytes } from "./pages.js";
import { readmeMessage, readmeSpec } from "./specs.js";

test("there is a bound for each element", () => {
  const [position, force] = [readmeSpec().observations[0]!, readmeSpec().actions[0]!];
  assert.deepEqual(position.low(), Float64Array.of(-Infinity, -Infinity));
  assert.deepEqual(force.high(), Float64Array.of(1, 1));
  assert.equal(force.rowBytes, 8);
});

test("the rest of the task is read and written", () => {
  const spec = decodeSpec({ ...readmeMessage(), extra: "by a Größe" });
  assert.equal(spec.extra, "by a Größe");
  assert.equal(encodeSpec(spec).extra, spec.extra);
  assert.equal(taskSpec(spec, 1).extra, spec.extra);
  assert.equal(readmeSpec().extra, "");
});

for (const [why, tensor, words] of [
  ["a dtype that is not known", { dtype: 12 as Dtype }, /got dtype 12, wanted one of bool/],
  ["no dtype", { dtype: Dtype.UNSPECIFIED }, /got dtype 0/],
  ["no name", { name: "" }, /a tensor has no name/],
  ["a shape that no message can hold", { shape: [65536, 65536] }, /67108864 elements/],
  ["a huge shape that is empty", { shape: [0, 65536, 65536] }, /67108864 elements/],
  ["too many axes", { shape: Array<number>(64).fill(1) }, /at most 63 axes/],
  ["no domain", { domain: { case: undefined } }, /no domain/],
  ["as many bounds as it has no elements", box([1, 2, 3], []), /low has 3 entries, wanted 0 or 1/],
  ["bounds that cross", box([2], [1]), /not below/],
  ["one bound of several that crosses", box([0, 2], [1]), /not below/],
  ["bounds that are no numbers", box([NaN], []), /not below/],
  ["no discrete values", { domain: { case: "discrete", value: { n: 0n } } }, /n ≥ 1/],
  ["discrete floats", { domain: { case: "discrete", value: { n: 1n } } }, /integer dtype/],
  [
    "another number of n",
    { domain: { case: "multiDiscrete", value: { n: [] } } },
    /n has 0 entries/,
  ],
] as [string, MessageInitShape<typeof TensorSpecSchema>, RegExp][]) {
  test(`a tensor of ${why} is refused`, () => {
    const message = readmeMessage();
    const spoiled = Object.assign(message.observations[0]!, tensor);
    assert.throws(
      () => decodeSpec({ ...message, observations: [spoiled] }),
      (error) => error instanceof SpecError && words.test(error.message),
    );
  });
}

for (const [why, make, words] of [
  ["no name", () => new TensorSpec(null as never, "int8"), /a tensor has no name/],
  [
    "a shape that is no list",
    () => tensor(3),
    /x: got shape 3, wanted a list of sizes, such as \[3\]/,
  ],
  ["no shape", () => tensor(null), /x: got shape null, wanted a list of sizes/],
  ["a negative size", () => tensor([-1]), /x: got shape -1, wanted a list of sizes/],
  ["half a size", () => tensor([0.5]), /x: got shape 0.5, wanted a list of sizes/],
  [
    "no domain",
    () => tensor([], null),
    /x: got a domain of kind undefined, wanted box, discrete, multiDiscrete, multiBinary/,
  ],
  ["an unknown domain", () => tensor([], { kind: "ball" }), /x: got a domain of kind ball, wanted/],
  [
    "half a choice",
    () => tensor([], { kind: "discrete", n: 2.5 }),
    /x: got n 2.5, wanted an integer/,
  ],
  ["no choices", () => tensor([], { kind: "discrete" }), /x: got n undefined, wanted an integer/],
  [
    "a start that is rounded",
    () => tensor([], { kind: "discrete", n: 2, start: 2 ** 53 }),
    /x: got start 9007199254740992, wanted an integer/,
  ],
  ["no counts", () => tensor([2], { kind: "multiDiscrete" }), /x: got n undefined, wanted a list/],
  ["half a box", () => tensor([], { kind: "box", low: [0] }), /x: high has no entries, wanted 0/],
] as [string, () => TensorSpec, RegExp][]) {
  test(`a tensor that an environment gives ${why} is refused`, () => {
    assert.throws(make, (error) => error instanceof SpecError && words.test(error.message));
  });
}

test("integers of a domain may be numbers, and start is 0 if it is omitted", () => {
  const domain = (description: DomainDescription, shape: number[] = []) =>
    new TensorSpec("x", "int64", shape, description).domain;
  const choices = { kind: "discrete", n: 4n, start: 0n };
  assert.deepEqual(domain({ kind: "discrete", n: 4 }), choices);
  assert.deepEqual(domain({ kind: "discrete", n: 4n, start: 0 }), choices);
  const many = { kind: "multiDiscrete", n: [2n, 3n] };
  assert.deepEqual(domain({ kind: "multiDiscrete", n: [2, 3n] }, [2]), many);
});

function tensor(shape: unknown, domain: unknown = { kind: "box", low: [], high: [] }): TensorSpec {
  return new TensorSpec("x", "int8", shape as never, domain as never);
}

test("a task without tensors, with two of a name, or without slots is refused", () => {
  const message = readmeMessage();
  const [first] = message.actions;
  assert.throws(() => decodeSpec({ ...message, actions: [] }), /actions need distinct names/);
  assert.throws(() => decodeSpec({ ...message, actions: [first!, first!] }), /got force, force/);
  assert.throws(() => decodeSpec({ ...message, slots: 0 }), /got 0 slots/);
  assert.throws(() => decodeSpec({ ...message, discount: NaN }), /got discount NaN/);
});

for (const [why, spoil, got] of [
  ["a phase that is not known", { phase: 4 }, "phase 4"],
  ["an end of a kind that is not known", { endKinds: [4] }, "end kind 4"],
  ["fewer kinds than ends", { endKinds: [] }, "0 end_kinds"],
  ["a slot that there is not", { stepSlots: [0, 4] }, "slot 4"],
  ["rewards that lack a byte", { rewards: new Uint8Array(23) }, "23 bytes of rewards"],
  ["observations that lack a tensor", { observations: [new Uint8Array(64)] }, "1 tensors"],
  [
    "an observation that lacks a byte",
    { observations: [new Uint8Array(63), new Uint8Array(4)] },
    "63 bytes of position",
  ],
] as const) {
  test(`a turn of ${why} is refused`, () => {
    const message = readMessage(bytes("proto/README.md", "hex call"));
    assert(message.call.case === "turn");
    Object.assign(message.call.value, spoil);
    assert.throws(() => decodeCall(message, readmeSpec()), { name: "BadCall", got });
  });
}

test("calls that nobody knows, or that come before init, are refused", () => {
  const unknown = create(AgentCallSchema, { seq: 1n });
  const early = create(AgentCallSchema, { call: { case: "freeze", value: {} } });
  assert.throws(() => decodeCall(unknown, readmeSpec()), BadCall);
  assert.throws(() => decodeCall(early, undefined), { got: "freeze before init" });
});

function box(low: number[], high: number[]) {
  return { domain: { case: "box", value: { low, high } } };
}
