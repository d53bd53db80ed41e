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
export { Chance } from "./chance.js";
export { connect, type ConnectOptions } from "./connect.js";
export { type Dtype } from "./dtype.js";
export * from "./errors.js";
export { type Goals } from "./goals.js";
export { main } from "./main.js";
export { type Arrays, type Elements, Rows } from "./rows.js";
export { type Domain, type TaskSpec, TensorSpec } from "./spec.js";
export { type Transport } from "./route.js";
