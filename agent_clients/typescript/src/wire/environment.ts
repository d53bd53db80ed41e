/** Calls and replies from and to the bytes of `environment.proto`. */
import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";

import type { Cell, Play, Played, Task } from "../environments/calls.js";
import { BadCall, type RoutineRefused } from "../errors.js";
import * as pb from "../gen/reglue/v1/environment_pb.js";
import { RefusalCode } from "../gen/reglue/v1/session_pb.js";
import type { Arrays, TaskSpec } from "../spec.js";
import { faultText } from "../text.js";
import { encodeSpec } from "./specs.js";
import { bytesOf, decodeArrays } from "./tensors.js";
import { checkCount, decodePhase, decodeSlots } from "./turns.js";

/** What there is to play, and what the environment can do. */
export interface Ready {
  readonly spec: TaskSpec;
  readonly tasks: readonly Task[];
  readonly restores: boolean;
  readonly portable: boolean;
  readonly seeds: boolean;
  readonly standardizes: boolean;
  readonly tellsSuccess: boolean;
  readonly wholeTurns: boolean;
  readonly repeatable: boolean;
}

/** What the environment answers. */
export type Reply =
  | { readonly case: "ready"; readonly value: Ready }
  | { readonly case: "played"; readonly value: Played }
  | { readonly case: "snapshot"; readonly value: { readonly snapshot: Uint8Array } }
  | { readonly case: "done"; readonly value: object }
  | { readonly case: "message"; readonly value: { readonly text: string } }
  | {
      readonly case: "refusal";
      readonly value: { readonly ofSeq: bigint; readonly refused: RoutineRefused };
    }
  | { readonly case: "fault"; readonly value: { readonly what: string } };

/** The message of these bytes. Throws BadCall. */
export function readEnvironmentCall(bytes: Uint8Array): pb.EnvironmentCall {
  try {
    return fromBinary(pb.EnvironmentCallSchema, bytes);
  } catch (error) {
    throw new BadCall(
      `${bytes.length} bytes that are no EnvironmentCall (${String(error)})`,
      "a message",
    );
  }
}

/** Throws BadCall for one that no Play of this session can be. */
export function decodePlay(message: pb.Play, spec: TaskSpec): Play {
  const { stepSlots, startSlots, cells } = message;
  const [slots, started] = [decodeSlots(stepSlots, spec), decodeSlots(startSlots, spec)];
  const named = new Set([...slots, ...started]);
  if (named.size < slots.length + started.length) {
    throw new BadCall(`slots ${[...slots, ...started].join(", ")}`, "each slot once");
  }
  checkCount("cells", cells.length, startSlots.length);
  const actions: Arrays =
    slots.length > 0 ? decodeArrays(spec.actions, message.actions, slots.length) : {};
  return { slots, actions, starts: { slots: started, cells: cells.map(decodeCell) } };
}

function decodeCell({ task, variant, seed, repeat, phase, steps }: pb.Cell): Cell {
  return { task, variant, seed, repeat, phase: decodePhase(phase), steps };
}

/** The bytes of a hello. */
export function encodeHello(value: MessageInitShape<typeof pb.EnvironmentHelloSchema>): Uint8Array {
  return encode(0n, { case: "hello", value });
}

/** The bytes of a reply to call `seq`. */
export function encodeReply(seq: bigint, reply: Reply): Uint8Array {
  switch (reply.case) {
    case "ready": {
      const { spec, tasks, tellsSuccess, repeatable, ...abilities } = reply.value;
      return encode(seq, {
        case: "ready",
        value: {
          ...abilities,
          spec: encodeSpec(spec),
          tasks: [...tasks],
          tellsNoSuccess: !tellsSuccess,
          notRepeatable: !repeatable,
        },
      });
    }
    case "played": {
      const { rewards, observations, flags, faults } = reply.value;
      const value = {
        rewards: bytesOf(rewards),
        observations: [...observations],
        flags,
        faults: [...faults].map(([slot, what]) => ({ slot, what: faultText(what) })),
      };
      return encode(seq, { case: "played", value });
    }
    case "refusal": {
      const { ofSeq, refused } = reply.value;
      const code = RefusalCode[refused.code as keyof typeof RefusalCode];
      const value = {
        ofSeq,
        code,
        got: faultText(refused.got),
        wanted: faultText(refused.wanted),
      };
      return encode(seq, { case: "refusal", value });
    }
    default:
      return encode(seq, reply);
  }
}

function encode(
  seq: bigint,
  reply: MessageInitShape<typeof pb.EnvironmentReplySchema>["reply"] & {},
): Uint8Array {
  return toBinary(pb.EnvironmentReplySchema, create(pb.EnvironmentReplySchema, { seq, reply }));
}
