/** A benchmark program's calls and the glue's replies, to and from the bytes of `experiment.proto`. */
import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";

import { BadCall } from "../errors.js";
import type { Started, Stepped } from "../experiments/results.js";
import * as pb from "../gen/reglue/v1/experiment_pb.js";
import { StepFlag } from "../gen/reglue/v1/environment_pb.js";
import type { Arrays, TaskSpec } from "../spec.js";
import { decodeArrays, decodeElements, REWARDS } from "./tensors.js";

/** What the program says. */
export type Call = MessageInitShape<typeof pb.ExperimentCallSchema>["call"] & {
  readonly case: string;
};

/** The bytes of call `seq`. */
export function encodeCall(seq: bigint, call: Call): Uint8Array {
  return toBinary(pb.ExperimentCallSchema, create(pb.ExperimentCallSchema, { seq, call }));
}

/** The bytes of a hello. */
export function encodeHello(value: MessageInitShape<typeof pb.ExperimentHelloSchema>): Uint8Array {
  return encodeCall(0n, { case: "hello", value });
}

/** The reply in these bytes. Throws BadCall. */
export function readReply(bytes: Uint8Array): pb.ExperimentReply {
  try {
    return fromBinary(pb.ExperimentReplySchema, bytes);
  } catch (error) {
    throw new BadCall(
      `${bytes.length} bytes that are no ExperimentReply (${String(error)})`,
      "a message",
    );
  }
}

// All throw BadCall for a reply that does not fit. `requested` are the slots of the call; none: all.
// `acts` says whether the agent chose actions.

/** Of RL_start and RL_env_start. */
export function decodeStarted(
  message: pb.Started,
  spec: TaskSpec,
  requested: readonly number[],
  acts: boolean,
): Started {
  const slots = slotsOf(message.slots, requested);
  return {
    slots,
    observations: decodeArrays(spec.observations, message.observations, slots.length),
    actions: actionsOf(message.actions, spec, slots.length, acts),
  };
}

/** Of RL_step and RL_env_step. */
export function decodeStepped(
  message: pb.Stepped,
  spec: TaskSpec,
  requested: readonly number[],
  acts: boolean,
): Stepped {
  const slots = slotsOf(message.slots, requested);
  const has = (bit: number) => Array.from(message.flags, (flags) => (flags & bit) !== 0);
  checkFlags(message.flags, slots.length);
  return {
    slots,
    rewards: decodeElements(REWARDS, message.rewards, slots.length) as Float64Array,
    observations: decodeArrays(spec.observations, message.observations, slots.length),
    terminated: has(StepFlag.TERMINATED),
    truncated: has(StepFlag.TRUNCATED),
    success: has(StepFlag.SUCCESS),
    actions: actionsOf(message.actions, spec, slots.length, acts),
  };
}

/** Of RL_agent_start and RL_agent_step. */
export function decodeActed(
  message: pb.Acted,
  spec: TaskSpec,
  requested: readonly number[],
): Arrays {
  const slots = slotsOf(message.slots, requested);
  return actionsOf(message.actions, spec, slots.length, true);
}

/** Whether all episodes ended by themselves. */
export function decodeEnded({ slots, flags }: pb.EpisodePlayed): boolean {
  checkFlags(flags, slots.length);
  return flags.every((each) => (each & (StepFlag.TERMINATED | StepFlag.TRUNCATED)) !== 0);
}

function slotsOf(slots: readonly number[], requested: readonly number[]): Uint32Array {
  if (requested.length > 0 && slots.length !== requested.length) {
    throw new BadCall(`${slots.length} slots`, `${requested.length}`);
  }
  return Uint32Array.from(slots);
}

function checkFlags(flags: Uint8Array, rows: number): void {
  if (flags.length !== rows) throw new BadCall(`${flags.length} flags`, `${rows}`);
}

function actionsOf(
  entries: readonly Uint8Array[],
  spec: TaskSpec,
  rows: number,
  acts: boolean,
): Arrays {
  return acts ? decodeArrays(spec.actions, entries, rows) : {};
}
