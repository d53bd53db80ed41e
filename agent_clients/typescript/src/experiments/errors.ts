/** What a routine throws instead of returning something. */
import {
  AgentFault,
  EnvironmentFault,
  NotSupported,
  OutOfDomain,
  OutOfOrder,
  type ReglueError,
  RoutineRefused,
  UnknownKey,
} from "../errors.js";
import type { ExperimentReply } from "../gen/reglue/v1/experiment_pb.js";
import { type Refusal, RefusalCode } from "../gen/reglue/v1/session_pb.js";
import { glueText } from "../text.js";

/** The reply's error; undefined if the routine was carried out. */
export function errorOf(reply: ExperimentReply["reply"]): ReglueError | undefined {
  switch (reply.case) {
    case "refusal":
      return refused(reply.value);
    case "agentFault":
      return new AgentFault(glueText(reply.value.what));
    case "environmentFault":
      return new EnvironmentFault(glueText(reply.value.what));
    default:
      return undefined;
  }
}

function refused(refusal: Refusal): RoutineRefused {
  const [got, wanted] = [glueText(refusal.got), glueText(refusal.wanted)];
  switch (refusal.code) {
    case RefusalCode.OUT_OF_ORDER:
      return new OutOfOrder(got, wanted);
    case RefusalCode.UNKNOWN_KEY:
      return new UnknownKey(got, wanted);
    case RefusalCode.NOT_SUPPORTED:
      return new NotSupported(got, wanted);
    case RefusalCode.OUT_OF_DOMAIN:
      return new OutOfDomain(got, wanted);
    default: // the others, and those of a later version
      return new RoutineRefused(RefusalCode[refusal.code] ?? "UNSPECIFIED", got, wanted);
  }
}
