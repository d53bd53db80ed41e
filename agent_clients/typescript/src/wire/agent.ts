/** Calls and replies from and to the bytes of `agent.proto`. */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";

import { type Budget, type Call, type Reply, UNLIMITED } from "../agents/calls.js";
import { BadCall } from "../errors.js";
import * as pb from "../gen/reglue/v1/agent_pb.js";
import type { TaskSpec } from "../spec.js";
import { faultText } from "../text.js";
import { decodeSpec } from "./specs.js";
import { bytesOf } from "./tensors.js";
import { decodeTurn } from "./turns.js";

/** The message of these bytes. Throws BadCall. */
export function readMessage(bytes: Uint8Array): pb.AgentCall {
  try {
    return fromBinary(pb.AgentCallSchema, bytes);
  } catch (error) {
    throw new BadCall(
      `${bytes.length} bytes that are no AgentCall (${String(error)})`,
      "a message",
    );
  }
}

/** The call of a message; `spec` is there after init. Throws BadCall and SpecError. */
export function decodeCall({ call }: pb.AgentCall, spec: TaskSpec | undefined): Call {
  switch (call.case) {
    case "init":
      if (call.value.spec === undefined) throw new BadCall("init without a spec", "a TaskSpec");
      return { kind: "init", spec: decodeSpec(call.value.spec) };
    case "turn":
      return { kind: "turn", turn: decodeTurn(call.value, begun(spec, call.case)) };
    case "freeze":
    case "adaptBegin":
    case "adapt":
    case "cleanup":
      begun(spec, call.case);
      return { kind: call.case };
    case "message":
      return { kind: "message", text: call.value.text };
    default:
      throw new BadCall("an unknown call", "one of protocol 1.0");
  }
}

/** What remains at a call. */
export function decodeBudget({ budget }: pb.AgentCall): Budget {
  if (budget === undefined) return UNLIMITED;
  const { stepUs, bankUs, adaptUs, runUs } = budget;
  return { stepUs, bankUs, adaptUs, runUs };
}

/** The bytes of a hello. */
export function encodeHello(hello: Omit<pb.AgentHello, "$typeName" | "$unknown">): Uint8Array {
  return encode({ seq: 0n, reply: { case: "hello", value: create(pb.AgentHelloSchema, hello) } });
}

/** The bytes of a reply to call `seq`. */
export function encodeReply(seq: bigint, reply: Reply): Uint8Array {
  switch (reply.kind) {
    case "actions": {
      const actions = reply.actions.map(bytesOf);
      const value = create(pb.ActionsSchema, { actions, abandonedSlots: [...reply.abandon] });
      return encode({ seq, reply: { case: "actions", value } });
    }
    case "done":
      return encode({ seq, reply: { case: "done", value: {} } });
    case "message":
      return encode({ seq, reply: { case: "message", value: { text: reply.text } } });
  }
}

/** The bytes that say what failed, as the answer to call `seq`; with 0 they answer no call. */
export function encodeFault(seq: bigint, what: string): Uint8Array {
  return encode({ seq, reply: { case: "fault", value: { what: faultText(what) } } });
}

function encode(reply: Parameters<typeof create<typeof pb.AgentReplySchema>>[1] & {}): Uint8Array {
  return toBinary(pb.AgentReplySchema, create(pb.AgentReplySchema, reply));
}

function begun(spec: TaskSpec | undefined, kind: string): TaskSpec {
  if (spec === undefined) throw new BadCall(`${kind} before init`, "init");
  return spec;
}
