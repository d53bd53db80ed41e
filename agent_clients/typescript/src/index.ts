/** Learning agents for Reglue: RL-Glue for today, over gRPC. */
export { Agent, type Awaitable } from "./agent.js";
export {
  Actions,
  type Budget,
  type Chosen,
  EndKind,
  type Ends,
  Phase,
  type Starts,
  ActionFlag,
  type Steps,
  type Turn,
  type Values,
} from "./calls.js";
export { Rng } from "./rng.js";
export { connect, type ConnectOptions, main } from "./connect.js";
export * from "./errors.js";
export { type Goals } from "./goals.js";
export { type Transport } from "./net/route.js";
export {
  type Arrays,
  type Domain,
  type Dtype,
  type Elements,
  Rows,
  type TaskSpec,
  TensorSpec,
} from "./spec.js";
export { type AgentEpisode, EpisodeAgent } from "./episode_agent.js";
