/** A Turn from its message: what travels most. */
import { EndKind, type Turn } from "../agents/calls.js";
import { BadCall } from "../errors.js";
import type * as pb from "../gen/reglue/v1/agent_pb.js";
import { Phase } from "../phase.js";
import type { TaskSpec } from "../spec.js";
import { decodeArrays, decodeElements, REWARDS } from "./tensors.js";

const KNOWN_FLAGS = 3; // later versions may have more: those are ignored

/** Throws BadCall for one that no turn of this session can be. */
export function decodeTurn(message: pb.Turn, spec: TaskSpec): Turn {
  const phase = decodePhase(message.phase);
  const { endSlots, stepSlots, startSlots, endKinds, stepFlags, startSeeds } = message;
  const kind = endKinds.find((each) => EndKind[each] === undefined);
  if (kind !== undefined) throw unknown(`end kind ${kind}`);
  checkCount("end_kinds", endKinds.length, endSlots.length);
  checkCount("step_flags", stepFlags.length, stepSlots.length);
  checkCount("start_seeds", startSeeds.length, startSlots.length);
  const acted = endSlots.length + stepSlots.length;
  return {
    phase,
    ends: { slots: decodeSlots(endSlots, spec), kinds: Uint8Array.from(endKinds) },
    steps: {
      slots: decodeSlots(stepSlots, spec),
      flags: Uint8Array.from(stepFlags, (flags) => flags & KNOWN_FLAGS),
    },
    starts: { slots: decodeSlots(startSlots, spec), seeds: BigUint64Array.from(startSeeds) },
    rewards: rewards(message.rewards, acted, phase, spec),
    observations: decodeArrays(spec.observations, message.observations, acted + startSlots.length),
  };
}

/** Throws BadCall for one that protocol 1.0 does not know. */
export function decodePhase(number: number): Phase {
  if (Phase[number] === undefined) throw unknown(`phase ${number}`);
  return number;
}

/** Throws BadCall unless there is one of `what` for each slot. */
export function checkCount(what: string, got: number, wanted: number): void {
  if (got !== wanted) throw new BadCall(`${got} ${what}`, `${wanted}, one a slot`);
}

/** Throws BadCall for a slot that is not played. */
export function decodeSlots(numbers: readonly number[], spec: TaskSpec): Uint32Array {
  const beyond = numbers.find((slot) => slot >= spec.slots);
  if (beyond !== undefined) throw new BadCall(`slot ${beyond}`, `0 to ${spec.slots - 1}`);
  return Uint32Array.from(numbers);
}

/** One a row; NaN if they are withheld. */
function rewards(entry: Uint8Array, rows: number, phase: Phase, spec: TaskSpec): Float64Array {
  if (phase !== Phase.Evaluate || spec.rewardsInEvaluation) {
    return decodeElements(REWARDS, entry, rows) as Float64Array;
  }
  if (entry.length > 0) throw new BadCall(`${entry.length} bytes of rewards`, "0, it is withheld");
  return new Float64Array(rows).fill(NaN);
}

function unknown(got: string): BadCall {
  return new BadCall(got, "what protocol 1.0 knows");
}
