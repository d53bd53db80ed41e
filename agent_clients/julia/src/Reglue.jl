"""
RL-Glue for today: agents in Julia that play at a Reglue glue.

Derive from [`Agent`](@ref), write [`agent_start!`](@ref) and [`agent_step!`](@ref), and
[`Reglue.connect`](@ref) it. All that passes over the network is done by the C library `libreglue`.
"""
module Reglue

using Libdl: dlopen, dlsym

export Agent, agent_init!, agent_start!, agent_step!, agent_end!, agent_freeze!, agent_message,
    agent_cleanup!, agent_budget!, adapt_begin!, adapt!, turn!
export EpisodeAgent, new_episode, episode_start!, episode_step!, episode_end!
export max_slots, partial_turns, adapts, episodic
export Turn, Ends, Steps, Starts, Observations, Actions, Budget, Goals, abandon!, get_goal
export Phase, TRAIN, ADAPT, EVALUATE
export EndKind, TERMINATED, TRUNCATED, VOID
export DEFAULTED, CLIPPED
export TaskSpec, TensorSpec, Box, Discrete, MultiDiscrete, MultiBinary
export ReglueError, UsageError, Unreachable, Refused, SessionLost
export Rng, word!, uniform!, below!

include("errors.jl")
include("spec.jl")
include("rng.jl")
include("tensors.jl")
include("goals.jl")
include("turn.jl")
include("agent.jl")
include("episodes.jl")
include("library.jl")
include("calls.jl")
include("connect.jl")

end
