/** Carries out a call on an agent: which routine answers which call. */
import type { Agent } from "./agent.js";
import { Actions, type Call, type Reply, type Turn } from "./calls.js";
import { conforming } from "./conforming.js";
import { shownGoals } from "./goals.js";

const DONE: Reply = { kind: "done" };

/**
 * Call the routine; undefined for calls that are not answered.
 *
 * Throws whatever the agent throws, and BadAnswer for an answer that does not fit its task.
 */
export async function play(agent: Agent, call: Call): Promise<Reply | undefined> {
  switch (call.kind) {
    case "turn":
      return answerTurn(agent, call.turn);
    case "init":
      agent.spec = call.spec;
      agent.seenGoals = shownGoals(call.spec);
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
    case "refusal":
    case "farewell":
      return undefined;
  }
}

async function answerTurn(agent: Agent, turn: Turn): Promise<Reply> {
  agent.phase = turn.phase;
  agent.seenGoals?.see(turn);
  const answer = await agent.turn(turn);
  const { actions, abandon } = answer instanceof Actions ? answer : new Actions(answer);
  const rows = turn.steps.slots.length + turn.starts.slots.length;
  return {
    kind: "actions",
    actions: conforming(agent.spec, { routine: "turn", answer: actions, rows }),
    abandon,
  };
}
