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

type CallBody = MessageInitShape<typeof EnvironmentCallSchema>["call"] & {};

/** Returns what a test sets. */
class TestEnvironment extends Environment {
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

/** The glue's side of an environment's session, one call at a time. */
class Session {
  readonly logged: string[] = [];
  readonly #peer: EnvironmentPeer;
  #seq = 0n;

  constructor(environment: Environment) {
    const log = (_: string, words: string) => void this.logged.push(words);
    this.#peer = new EnvironmentPeer(environment, { name: "test", log });
  }

  async ask(call: CallBody): Promise<EnvironmentReply["reply"]> {
    const message = create(EnvironmentCallSchema, { seq: ++this.#seq, call });
    const read = this.#peer.read(toBinary(EnvironmentCallSchema, message));
    const reply = fromBinary(EnvironmentReplySchema, await this.#peer.decode(read)());
    assert.equal(reply.seq, this.#seq);
    return reply.reply;
  }

  async play(call: CallBody) {
    const reply = await this.ask(call);
    assert(reply.case === "played", reply.case);
    return reply.value;
  }
}

/** A session of two slots, after init. */
async function begin(environment: TestEnvironment): Promise<Session> {
  const session = new Session(environment);
  await session.ask({ case: "init", value: { slots: 2 } });
  return session;
}

const CELL = { task: "task", variant: 0, seed: 1n, repeat: 0n, phase: Phase.TRAIN };
const step = (...stepSlots: number[]): CallBody => {
  return { case: "play", value: { stepSlots, actions: [new Uint8Array(stepSlots.length)] } };
};

test("the page's environment is played to the byte", async () => {
  const environment = new ConformanceEnvironment();
  const task = block(PAGE, "text spec").replace(/^task.*$/m, "task -Infinity Infinity 1 100 0 1 4");
  const session = new Session(environment);
  await session.ask({ case: "message", value: { text: `play\n${task}` } });
  await session.ask({ case: "init", value: { slots: 1 } });
  const cells = [{ ...CELL, task: "first", variant: 1, seed: 41n, repeat: 3n, steps: 1000n }];
  const started = await session.play({ case: "play", value: { startSlots: [0], cells } });
  const page = block(PAGE, "text environment").split("\n");
  const pageBytes = page.flatMap((line) => /\[(.*)\]/.exec(line)?.[1] ?? []).map(unhex);
  const doors = page.flatMap((line) => /^door_open (\d)/.exec(line)?.[1] ?? []).map(Number);
  const [first, second, reward] = pageBytes;
  assert.deepEqual(started.observations, [first, Uint8Array.of(doors[0]!)]);
  const digits = unhex(entries(PAGE, "text environment").get("step")!);
  const actions = [digits.subarray(0, 8), digits.subarray(8)];
  const stepped = await session.play({ case: "play", value: { stepSlots: [0], actions } });
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

test("parts of a task that an environment omits have their defaults", () => {
  const { observations, actions } = readmeSpec();
  const spec = taskSpec({ observations, actions }, 3);
  assert.equal(
    specWords(spec).split("\n")[0],
    "task -Infinity Infinity 1 0 0 1 3", // rewards, discount, horizon, continuing, rewards in evaluation, slots
  );
});

test("ready says which optional routines are there", async () => {
  const ready = await new Session(new TestEnvironment()).ask({ case: "init", value: { slots: 2 } });
  assert(ready.case === "ready");
  const { spec, tasks, restores, portable, seeds, standardizes, tellsNoSuccess } = ready.value;
  assert.deepEqual(
    [spec?.slots, tasks.map(({ name, variants }) => [name, variants])],
    [2, [["task", 1]]],
  );
  assert.deepEqual([restores, portable, seeds, standardizes], [true, false, false, false]);
  assert.equal(tellsNoSuccess, false);
  assert.deepEqual([ready.value.wholeTurns, ready.value.notRepeatable], [false, false]);
});

test("flags are one for all rows, or one for each", async () => {
  const environment = new TestEnvironment();
  const session = await begin(environment);
  environment.earned = {
    rewards: [1, 2],
    observations: { x: [3, 4] },
    terminated: [true, false],
    truncated: Uint8Array.of(0, 1),
    success: true,
  };
  const { rewards, observations, flags } = await session.play(step(1, 0));
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
  ["text instead of a number", { observations: ["1"] }, /got 1, wanted a number \(float32\)/],
  ["too few rewards", { rewards: [] }, /got 0 rewards, wanted 1/],
  ["a reward that is not finite", { rewards: [NaN] }, /got reward NaN, wanted a finite number/],
  ["too many flags", { terminated: [true, false] }, /got 2 of terminated, wanted 1/],
  ["no answer", undefined, /envStep\(\) returned undefined, wanted an object with observations/],
  ["null", null, /envStep\(\) returned null, wanted an object with observations/],
] as [string, Partial<Earned> | null | undefined, RegExp][]) {
  test(`${why} is the fault of the slots, and the session goes on`, async () => {
    const environment = new TestEnvironment();
    const session = await begin(environment);
    const good = environment.earned;
    environment.earned = (earned && { ...good, ...earned }) as Earned;
    const { faults, observations, flags } = await session.play(step(1));
    assert.deepEqual(
      faults.map(({ slot }) => slot),
      [1],
    );
    assert.match(faults[0]!.what, words);
    assert.deepEqual([observations[0]!.length, ...flags], [4, 0]); // its row is there
    environment.earned = good;
    assert.deepEqual((await session.play(step(1))).faults, []);
  });
}

test("an error thrown in a step is logged with its stack, and is a fault of every slot", async () => {
  const environment = new TestEnvironment();
  const session = await begin(environment);
  environment.throws = new RangeError("off the track");
  const starts = { startSlots: [0], cells: [CELL] };
  const { faults } = await session.play({
    case: "play",
    value: { ...(step(1).value as object), ...starts },
  });
  assert.deepEqual(
    faults.map(({ slot, what }) => [slot, what]),
    [1, 0].map((slot) => [slot, "RangeError: off the track"]),
  );
  assert.match(session.logged[0]!, /its episodes are void: RangeError: off the track\n +at /);
});

test("one slot may fail while the others play on", async () => {
  const environment = new TestEnvironment();
  const session = await begin(environment);
  const faults: Faults = new Map([[0, "out of paint"]]);
  environment.earned = { rewards: [1, 1], observations: [1, 2], faults };
  const played = await session.play(step(0, 1));
  assert.deepEqual(
    played.faults.map(({ slot, what }) => [slot, what]),
    [[0, "out of paint"]],
  );
});

test("a refused routine and a missing one are refusals with their codes", async () => {
  const session = await begin(new TestEnvironment());
  for (const [call, code, wanted] of [
    [{ case: "getState", value: { slot: 1 } }, RefusalCode.OUT_OF_ORDER, "env_start there first"],
    [{ case: "setState", value: {} }, RefusalCode.UNKNOWN_KEY, "a state of this environment"],
    [{ case: "getState", value: { slot: 2 } }, RefusalCode.OUT_OF_DOMAIN, "0 to 1"],
    [
      { case: "standardizeRandomness", value: {} },
      RefusalCode.NOT_SUPPORTED,
      "an environment that standardizes",
    ],
  ] as [CallBody, RefusalCode, string][]) {
    const reply = await session.ask(call);
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
  test(`an envInit that returns ${JSON.stringify(task)} throws with what it should return`, async () => {
    class Wrong extends TestEnvironment {
      override envInit = () => task as TaskDescription;
    }
    const init: CallBody = { case: "init", value: { slots: 1 } };
    await assert.rejects(new Session(new Wrong()).ask(init), words);
  });
}

test("an environment that lacks a routine is refused before it dials", async () => {
  class Half extends (Environment as unknown as new () => { envInit?: unknown }) {
    override envInit = () => {};
  }
  const half = new Half() as unknown as Environment;
  const lacks = /^NotAnEnvironment: Half lacks envStart\(\); write envInit\(\), envStart\(\) and/;
  await assert.rejects(connect(half, { address: "127.0.0.1:9" }), lacks);
  await assert.rejects(connect(half, { address: "127.0.0.1:9" }), NotAnEnvironment);
  assert.throws(() => new TestEnvironment().spec, UsageError);
});
