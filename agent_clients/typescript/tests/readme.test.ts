import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";

import { EndKind } from "../src/agents/calls.js";
import { Phase } from "../src/phase.js";
import { ACTIONS } from "../src/agents/agent.js";
import { joinString } from "../src/net/join_string.js";
import { conforming } from "../src/conforming.js";
import { helloProof, unixSocketProof } from "../src/net/lobby.js";
import { decodeCall, encodeReply, readMessage } from "../src/wire/agent.js";
import { block, bytes, entries, hex, unhex } from "./pages.js";
import { readmeSpec } from "./specs.js";

const PAGE = "proto/README.md";

test("the page's join string says what the page says", () => {
  const joined = block(PAGE, "text join-string").replaceAll("\n", "");
  const wanted = entries(PAGE, "text join-string-entries");
  const parts = joinString({ address: joined });
  assert.equal(parts.address, wanted.get("address"));
  assert.equal(parts.tlsName, wanted.get("name"));
  assert.equal(parts.token, wanted.get("token"));
  assert.equal(createHash("sha256").update(parts.authority).digest("hex"), wanted.get("sha256"));
});

for (const [info, proof] of [
  ["text hello", helloProof],
  ["text unix socket", unixSocketProof],
] as const) {
  test(`the proof of the page's ${info} is the page's`, () => {
    const vector = entries(PAGE, info);
    const [secret, session] = [unhex(vector.get("secret")!), vector.get("session")!];
    const made = proof(secret, session, BigInt(vector.get("answered")!));
    assert.equal(hex(made), vector.get("proof"));
  });
}

test("the page's turn is read to the byte", () => {
  const message = readMessage(bytes(PAGE, "hex call"));
  const call = decodeCall(message, readmeSpec());
  assert.equal(message.seq, 8n);
  assert(call.kind === "turn");
  const { phase, ends, steps, starts, rewards, observations } = call.turn;
  assert.equal(phase, Phase.Evaluate);
  assert.deepEqual(ends, { slots: Uint32Array.of(2), kinds: Uint8Array.of(EndKind.Truncated) });
  assert.deepEqual(steps, { slots: Uint32Array.of(0, 3), flags: Uint8Array.of(0, 2) });
  assert.deepEqual(starts.slots, Uint32Array.of(2));
  assert.deepEqual(starts.seeds, BigUint64Array.of(0x0123456789abcdefn));
  assert.deepEqual(rewards, Float64Array.of(1, -0.25, 0.5));
  const positions = Float64Array.of(1.5, -2, 0.25, 3, -0.5, 0, 0, 1);
  assert.deepEqual(observations["position"]!.data, positions);
  assert.deepEqual(observations["position"]!.row(1), Float64Array.of(0.25, 3));
  assert.deepEqual(observations["door_open"]!.data, Uint8Array.of(1, 0, 1, 0));
  assert.deepEqual(Object.keys(observations), ["position", "door_open"]);
});

test("the page's answer is written to the byte", () => {
  const answer = {
    force: [
      [0.5, -1],
      [1, 0],
      [-0.25, 0.75],
    ],
    grip: [-1, 1, 0],
  };
  const actions = conforming(readmeSpec().actions, { routine: "turn", answer, rows: 3 }, ACTIONS);
  const reply = encodeReply(8n, { kind: "actions", actions, abandon: [] });
  assert.equal(hex(reply), hex(bytes(PAGE, "hex reply")));
});

test("a turn's tensors are views of the message where those are aligned", () => {
  const bytesOfCall = bytes(PAGE, "hex call");
  const call = decodeCall(readMessage(bytesOfCall), readmeSpec());
  assert(call.kind === "turn");
  const { position, door_open } = call.turn.observations;
  assert.equal(door_open!.data.buffer, bytesOfCall.buffer);
  const at = hex(bytesOfCall).indexOf(hex(new Uint8Array(position!.data.buffer).slice(0, 64))) / 2;
  assert.equal(position!.data.buffer === bytesOfCall.buffer, at % 8 === 0);
});
