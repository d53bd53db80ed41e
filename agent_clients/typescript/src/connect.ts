/** Connects an agent or an environment to a glue: from a program, or as a program. */
import { Agent, checkAgent } from "./agents/agent.js";
import { AgentPeer } from "./agents/dispatch.js";
import { EnvironmentPeer } from "./environments/dispatch.js";
import { checkEnvironment, Environment } from "./environments/environment.js";
import { checkedOptions, type ConnectOptions } from "./net/options.js";
import { PeerFailed, playSession } from "./net/session.js";
import { type MainOptions, runProgram } from "./program.js";

/**
 * Play a session until the glue's farewell; returns its text.
 *
 * `address` is `host:port` or a join string, which also holds the token and the trusted authority;
 * they default to REGLUE_ADDRESS and REGLUE_TOKEN of the environment. With an authority (`ca`) the
 * connection uses TLS, and never goes without it. It reconnects when a connection breaks, as
 * long as the glue allows and at most `connectTimeoutS`, and every call is carried out once.
 *
 * Throws NotAnAgent or NotAnEnvironment (a routine is missing), Unreachable, Refused (wrong token,
 * wrong version, WrongTls, busy), SessionLost (the glue went away), UsageError (no address, no such
 * transport here), and whatever the agent or environment itself throws, after telling the glue.
 */
export async function connect(
  peer: Agent | Environment,
  options: ConnectOptions = {},
): Promise<string> {
  try {
    return await play(peer, options);
  } catch (error) {
    throw error instanceof PeerFailed ? error.cause : error;
  }
}

/**
 * Play a session as `connect`, and leave the process when it is over.
 *
 * Exit codes are those of `reglue join`: 0 farewell, 1 the agent or environment failed or the glue
 * went away, 2 wrong usage or refused, 130 after SIGINT (Ctrl-C) and 143 after SIGTERM, after
 * telling the glue. The second signal ends it at once. With `handleSignals: false` the program
 * handles signals itself.
 */
export async function main(
  peer: Agent | Environment,
  { handleSignals, ...options }: MainOptions<ConnectOptions> = {},
): Promise<never> {
  return runProgram((signal) => play(peer, { ...options, signal }), handleSignals);
}

async function play(peer: Agent | Environment, options: ConnectOptions): Promise<string> {
  if (peer instanceof Environment) {
    checkEnvironment(peer);
    const { where, playing } = checkedOptions(options, "environment", peer.constructor.name);
    return playSession(new EnvironmentPeer(peer, playing), where, playing);
  }
  checkAgent(peer);
  const { where, playing } = checkedOptions(options, "agent", peer.constructor.name);
  return playSession(new AgentPeer(peer, playing.name), where, playing);
}
