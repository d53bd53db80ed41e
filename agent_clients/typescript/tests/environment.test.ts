import assert from "node:assert/strict";
import { test } from "node:test";

import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";

import { ConformanceEnvironment } from "../conformance/environment.js";
import { rowsWord, specWords, steppedWords, taskOfWords } from "../conformance/words.js";
import { connect } from "../src/connect.js";
import type { Begun, Earned, Faults } from "../src/environments/calls.js";
import { EnvironmentPeer } from "../src/environments/dispatch.js";
import { Environment } from "../src/environments/environment.js";
import { NotAnEnvironment, OutOfOrder, UnknownKey, UsageError } from "../src/errors.js";
import {
  EnvironmentCallSchema,
  type EnvironmentReply,
  EnvironmentReplySchema,
} from "../src/gen/reglue/v1/environment_pb.js";
import { Phase, RefusalCode } from "../src/gen/reglue/v1/session_pb.js";
import { Rows, taskSpec, type TaskDescription, TensorSpec } from "../src/spec.js";
import { block, entries, unhex } from "./pages.js";
import { readmeSpec } from "./specs.js";

const PAGE = "proto/CONFORMANCE.md";

type Said = MessageInitShape<typeof EnvironmentCallSchema>["call"] & {};

/** Shows what a test wants it to show. */
class Shown extends Environment {
  begun: Begun = { observations: [0] };
  earned: Earned = { rewards: [0.5], observations: [1] };
  throws: Error | undefined;

  override envInit(): TaskDescription {
    return {
      observations: [new TensorSpec("x", "float32")],
      actions: [new TensorSpec("push", "int8")],
    };
  }

  override envStart = () => this.begun;

  override envStep(): Earned {
    if (this.throws !== undefined) throw this.throws;
    return this.earned;
  }

  override envGetState(slot: number): Uint8Array {
    throw new OutOfOrder(`env_get_state in slot ${slot}`, "env_start there first");
  }

  override envSetState(): void {
    throw new UnknownKey("3 bytes", "a state of this environment");
  }
}

/** One that is asked, call by call. */
class Asked {
  readonly logged: string[] = [];
  readonly #peer: EnvironmentPeer;
  #seq = 0n;

  constructor(environment: Environment) {
    const log = (_: string, words: string) => void this.logged.push(words);
    this.#peer = new EnvironmentPeer(environment, { name: "shown", log });
  }

  async ask(call: Said): Promise<EnvironmentReply["reply"]> {
    const message = create(EnvironmentCallSchema, { seq: ++this.#seq, call });
    const read = this.#peer.read(toBinary(EnvironmentCallSchema, message));
    const reply = fromBinary(EnvironmentReplySchema, await this.#peer.decode(read)());
    assert.equal(reply.seq, this.#seq);
    return reply.reply;
  }

  async played(call: Said) {
    const reply = await this.ask(call);
    assert(reply.case === "played", reply.case);
    return reply.value;
  }
}

/** Two slots, which have begun. */
async function shown(environment: Shown): Promise<Asked> {
  const asked = new Asked(environment);
  await asked.ask({ case: "init", value: { slots: 2 } });
  return asked;
}

const CELL = { task: "task", variant: 0, seed: 1n, repeat: 0n, phase: Phase.TRAIN };
const step = (...stepSlots: number[]): Said => {
  return { case: "play", value: { stepSlots, actions: [new Uint8Array(stepSlots.length)] } };
};

test("the page's environment is played to the byte", async () => {
  const environment = new ConformanceEnvironment();
  const task = block(PAGE, "text spec").replace(/^task.*$/m, "task -Infinity Infinity 1 100 0 1 4");
  const asked = new Asked(environment);
  await asked.ask({ case: "message", value: { text: `play\n${task}` } });
  await asked.ask({ case: "init", value: { slots: 1 } });
  const cells = [{ ...CELL, task: "first", variant: 1, seed: 41n, repeat: 3n, steps: 1000n }];
  const started = await asked.played({ case: "play", value: { startSlots: [0], cells } });
  const page = block(PAGE, "text environment").split("\n");
  const shownBytes = page.flatMap((line) => /\[(.*)\]/.exec(line)?.[1] ?? []).map(unhex);
  const doors = page.flatMap((line) => /^door_open (\d)/.exec(line)?.[1] ?? []).map(Number);
  const [first, second, reward] = shownBytes;
  assert.deepEqual(started.observations, [first, Uint8Array.of(doors[0]!)]);
  const digits = unhex(entries(PAGE, "text environment").get("step")!);
  const actions = [digits.subarray(0, 8), digits.subarray(8)];
  const stepped = await asked.played({ case: "play", value: { stepSlots: [0], actions } });
  assert.deepEqual(stepped.observations, [second, Uint8Array.of(doors[1]!)]);
  assert.deepEqual(stepped.rewards, reward);
  assert.deepEqual([...stepped.flags], [4]); // success
});

test("the words of the page's step are the page's", () => {
  const wanted = entries(PAGE, "text experiment");
  const word = (name: string) => wanted.get(name)!.split(/\s+/)[0]!;
  const spec = readmeSpec();
  const stepped = {
    slots: Uint32Array.of(2, 0),
    rewards: Float64Array.of(-0.25, 1),
    observations: {
      position: new Rows(Float64Array.of(0.25, 3, 1.5, -2), 2, [2]),
      door_open: new Rows(Uint8Array.of(1, 0), 2, []),
    },
    terminated: [false, true],
    truncated: [false, false],
    success: [false, true],
    actions: {
      force: new Rows(Float32Array.of(0.5, -1, 0, 0), 2, [2]),
      grip: new Rows(Int16Array.of(-1, 0), 2, []),
    },
  };
  const names = ["slots", "rewards", "observations", "flags", "actions"];
  assert.equal(steppedWords(spec, stepped, true), names.map(word).join(" "));
  assert.equal(rowsWord(spec.actions, stepped.actions), word("actions"));
});

test("a task in words is read as it is written", () => {
  const task = taskOfWords(specWords(readmeSpec()));
  assert.deepEqual(taskSpec(task, 4), readmeSpec());
});

test("what an environment does not say of its task has its default", () => {
  const { observations, actions } = readmeSpec();
  const spec = taskSpec({ observations, actions }, 3);
  assert.equal(
    specWords(spec).split("\n")[0],
    "task -Infinity Infinity 1 0 0 1 3", // rewards, discount, horizon, continuing, shown, slots
  );
});

test("ready says which optional routines are there", async () => {
  const ready = await new Asked(new Shown()).ask({ case: "init", value: { slots: 2 } });
  assert(ready.case === "ready");
  const { spec, tasks, restores, portable, seeds, standardizes, tellsNoSuccess } = ready.value;
  assert.deepEqual(
    [spec?.slots, tasks.map(({ name, variants }) => [name, variants])],
    [2, [["task", 1]]],
  );
  assert.deepEqual([restores, portable, seeds, standardizes], [true, false, false, false]);
  assert.equal(tellsNoSuccess, false);
});

test("flags are one for all rows, or one for each", async () => {
  const environment = new Shown();
  const asked = await shown(environment);
  environment.earned = {
    rewards: [1, 2],
    observations: { x: [3, 4] },
    terminated: [true, false],
    truncated: Uint8Array.of(0, 1),
    success: true,
  };
  const { rewards, observations, flags } = await asked.played(step(1, 0));
  assert.deepEqual(new Float64Array(rewards.slice().buffer), Float64Array.of(1, 2));
  assert.deepEqual(new Float32Array(observations[0]!.slice().buffer), Float32Array.of(3, 4));
  assert.deepEqual([...flags], [1 + 4, 2 + 4]);
});

for (const [why, earned, words] of [
  [
    "an observation of a wrong size",
    { observations: [1, 2] },
    /x: got 2 numbers, wanted 1: 1 rows/,
  ],
  ["an observation of another name", { observations: { y: [1] } }, /got y, wanted observations by/],
  ["a number that is none", { observations: ["1"] }, /got 1, wanted a number \(float32\)/],
  ["too few rewards", { rewards: [] }, /got 0 rewards, wanted 1/],
  ["a reward that is not finite", { rewards: [NaN] }, /got reward NaN, wanted a finite number/],
  ["too many flags", { terminated: [true, false] }, /got 2 of terminated, wanted 1/],
  ["no answer", undefined, /envStep\(\) returned undefined, wanted an object with observations/],
  ["null", null, /envStep\(\) returned null, wanted an object with observations/],
] as [string, Partial<Earned> | null | undefined, RegExp][]) {
  test(`${why} is the fault of the slots, and the session goes on`, async () => {
    const environment = new Shown();
    const asked = await shown(environment);
    const good = environment.earned;
    environment.earned = (earned && { ...good, ...earned }) as Earned;
    const { faults, observations, flags } = await asked.played(step(1));
    assert.deepEqual(
      faults.map(({ slot }) => slot),
      [1],
    );
    assert.match(faults[0]!.what, words);
    assert.deepEqual([observations[0]!.length, ...flags], [4, 0]); // its row is there
    environment.earned = good;
    assert.deepEqual((await asked.played(step(1))).faults, []);
  });
}

test("what it throws in a step is logged with its place, and the fault of all slots", async () => {
  const environment = new Shown();
  const asked = await shown(environment);
  environment.throws = new RangeError("off the track");
  const starts = { startSlots: [0], cells: [CELL] };
  const { faults } = await asked.played({
    case: "play",
    value: { ...(step(1).value as object), ...starts },
  });
  assert.deepEqual(
    faults.map(({ slot, what }) => [slot, what]),
    [1, 0].map((slot) => [slot, "RangeError: off the track"]),
  );
  assert.match(asked.logged[0]!, /its episodes are void: RangeError: off the track\n +at /);
});

test("one slot may fail while the others play on", async () => {
  const environment = new Shown();
  const asked = await shown(environment);
  const faults: Faults = new Map([[0, "out of paint"]]);
  environment.earned = { rewards: [1, 1], observations: [1, 2], faults };
  const played = await asked.played(step(0, 1));
  assert.deepEqual(
    played.faults.map(({ slot, what }) => [slot, what]),
    [[0, "out of paint"]],
  );
});

test("what a routine refuses, and one that it lacks, is a refusal with its code", async () => {
  const asked = await shown(new Shown());
  for (const [call, code, wanted] of [
    [{ case: "getState", value: { slot: 1 } }, RefusalCode.OUT_OF_ORDER, "env_start there first"],
    [{ case: "setState", value: {} }, RefusalCode.UNKNOWN_KEY, "a state of this environment"],
    [{ case: "getState", value: { slot: 2 } }, RefusalCode.OUT_OF_DOMAIN, "0 to 1"],
    [
      { case: "standardizeRandomness", value: {} },
      RefusalCode.NOT_SUPPORTED,
      "an environment that standardizes",
    ],
  ] as [Said, RefusalCode, string][]) {
    const reply = await asked.ask(call);
    assert(reply.case === "refusal");
    assert.deepEqual([reply.value.code, reply.value.wanted], [code, wanted]);
  }
});

for (const [task, words] of [
  [undefined, /^NotAnEnvironment: envInit\(\) returned undefined, wanted an object with observ/],
  [null, /^NotAnEnvironment: envInit\(\) returned null, wanted an object with observations and/],
  [{}, /^SpecError: got observations undefined, wanted a list of TensorSpec objects/],
  [{ observations: [{ name: "x", dtype: "int8" }] }, /^SpecError: got observations \[object Obj/],
] as [unknown, RegExp][]) {
  test(`an envInit that returns ${JSON.stringify(task)} is told what it should return`, async () => {
    class Wrong extends Shown {
      override envInit = () => task as TaskDescription;
    }
    const init: Said = { case: "init", value: { slots: 1 } };
    await assert.rejects(new Asked(new Wrong()).ask(init), words);
  });
}

test("an environment that lacks a routine is told before it dials", async () => {
  class Half extends (Environment as unknown as new () => { envInit?: unknown }) {
    override envInit = () => {};
  }
  const half = new Half() as unknown as Environment;
  const lacks = /^NotAnEnvironment: Half lacks envStart\(\); write envInit\(\), envStart\(\) and/;
  await assert.rejects(connect(half, { address: "127.0.0.1:9" }), lacks);
  await assert.rejects(connect(half, { address: "127.0.0.1:9" }), NotAnEnvironment);
  assert.throws(() => new Shown().spec, UsageError);
});
