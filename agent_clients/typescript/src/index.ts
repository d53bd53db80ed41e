/** Agents, environments and benchmark programs for Reglue: RL-Glue for today, over gRPC. */
export { Agent } from "./agents/agent.js";
export {
  ActionFlag,
  Actions,
  type Budget,
  type Chosen,
  EndKind,
  type Ends,
  type Starts,
  type Steps,
  type Turn,
} from "./agents/calls.js";
export { type AgentEpisode, EpisodeAgent } from "./agents/episode_agent.js";
export { type Goals } from "./agents/goals.js";
export { type Answer, type Awaitable, type Values } from "./conforming.js";
export { connect, main } from "./connect.js";
export type { MainOptions } from "./program.js";
export {
  type Begun,
  type Cell,
  type Cells,
  type Earned,
  type Faults,
  type Flags,
  type Task,
} from "./environments/calls.js";
export { Environment } from "./environments/environment.js";
export * from "./errors.js";
export { Experiment } from "./experiments/experiment.js";
export type {
  EpisodeOptions,
  ExperimentOptions,
  InitOptions,
  StartOptions,
} from "./experiments/options.js";
export { type Started, type Stepped, type Trajectory } from "./experiments/results.js";
export { type LogLevel } from "./net/log.js";
export { type ConnectOptions } from "./net/options.js";
export { type Transport } from "./net/route.js";
export { Phase } from "./phase.js";
export { Rng } from "./rng.js";
export {
  type Arrays,
  type Domain,
  type DomainDescription,
  type Dtype,
  type Elements,
  Rows,
  type TaskDescription,
  type TaskSpec,
  TensorSpec,
} from "./spec.js";
