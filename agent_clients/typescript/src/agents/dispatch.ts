/** Carries out a call on an agent: which routine answers which call. */
import type * as pb from "../gen/reglue/v1/agent_pb.js";
import { conforming } from "../conforming.js";
import { BadAnswer } from "../errors.js";
import type { Greeting } from "../net/lobby.js";
import type { Peer } from "../net/session.js";
import type { TaskSpec } from "../spec.js";
import {
  decodeBudget,
  decodeCall,
  encodeFault,
  encodeHello,
  encodeReply,
  readMessage,
} from "../wire/agent.js";
import { ACTIONS, type Agent, tell } from "./agent.js";
import { Actions, type Call, type Reply, type Turn } from "./calls.js";

const DONE: Reply = { kind: "done" };

/** An agent, as its session asks it. */
export class AgentPeer implements Peer<pb.AgentCall> {
  readonly kind = "agent";
  #spec: TaskSpec | undefined; // of the calls that follow

  constructor(
    private readonly agent: Agent,
    private readonly name: string,
  ) {}

  hello(greeting: Greeting): Uint8Array {
    const { maxSlots, partialTurns, adapts, episodic } = this.agent;
    return encodeHello({
      ...greeting,
      agent: this.name,
      maxSlots,
      partialTurns,
      adapts,
      episodic,
    });
  }

  read(bytes: Uint8Array): pb.AgentCall {
    return readMessage(bytes);
  }

  decode(message: pb.AgentCall): () => Promise<Uint8Array> {
    const call = decodeCall(message, this.#spec);
    if (call.kind === "init") this.#spec = call.spec;
    return async () => {
      tell.budget(this.agent, decodeBudget(message));
      return encodeReply(message.seq, await play(this.agent, call));
    };
  }

  fault(seq: bigint, what: string): Uint8Array {
    return encodeFault(seq, what);
  }
}

/**
 * Call the routine.
 *
 * Throws whatever the agent throws, and BadAnswer for an answer that does not fit its task.
 */
export async function play(agent: Agent, call: Call): Promise<Reply> {
  switch (call.kind) {
    case "turn":
      return answerTurn(agent, call.turn);
    case "init":
      tell.task(agent, call.spec);
      await agent.agentInit(call.spec);
      return DONE;
    case "freeze":
      await agent.agentFreeze();
      return DONE;
    case "adaptBegin":
      await agent.adaptBegin();
      return DONE;
    case "adapt":
      await agent.adapt();
      return DONE;
    case "message":
      return { kind: "message", text: String((await agent.agentMessage(call.text)) ?? "") };
    case "cleanup":
      await agent.agentCleanup();
      return DONE;
  }
}

async function answerTurn(agent: Agent, turn: Turn): Promise<Reply> {
  tell.turn(agent, turn);
  const answer = await agent.turn(turn);
  const { actions, abandon } = answer instanceof Actions ? answer : new Actions(answer);
  checkAbandoned(abandon, turn);
  const rows = turn.steps.slots.length + turn.starts.slots.length;
  const part = { routine: "turn", answer: actions, rows };
  return { kind: "actions", actions: conforming(agent.spec.actions, part, ACTIONS), abandon };
}

/** Throws BadAnswer unless they are slots that step or start. */
function checkAbandoned(abandon: unknown, { steps, starts }: Turn): void {
  const isPlayed = (slot: number) => steps.slots.includes(slot) || starts.slots.includes(slot);
  if (Array.isArray(abandon) && abandon.every(isPlayed)) return;
  const got = [abandon].flat().map(String).join(", ");
  throw new BadAnswer("turn(): abandon", got, "a list of slots that step or start");
}
