"""
RL-Glue for today: agents, environments and benchmark programs in Julia, joined at a Reglue glue.

An agent derives from [`Agent`](@ref) and has [`agent_start!`](@ref) and [`agent_step!`](@ref); an environment derives
from [`Environment`](@ref) and has [`env_init!`](@ref), [`env_start!`](@ref) and [`env_step!`](@ref); [`Reglue.main`](@ref)
plays either. A benchmark program calls the routines of an [`Experiment`](@ref). All that passes over the network is done by the
C library `libreglue`.
"""
module Reglue

Base.Experimental.@optlevel 1

using Libdl: dlopen, dlsym
using Random: Random, AbstractRNG

export Agent, agent_init!, agent_start!, agent_step!, agent_end!, agent_freeze!, agent_message,
    agent_cleanup!, agent_budget!, adapt_begin!, adapt!, turn!
export EpisodeAgent, new_episode, episode_start!, episode_step!, episode_end!
export max_slots, partial_turns, adapts, episodic, zero_copy
export Turn, Ends, Steps, Starts, Observations, Actions, ChosenActions, Budget, Goals, abandon!, get_goal
export Phase, TRAIN, ADAPT, EVALUATE
export EndKind, TERMINATED, TRUNCATED, VOID
export DEFAULTED, CLIPPED
export Environment, env_init!, env_start!, env_step!, env_get_state, env_set_state!, env_get_random_seed,
    env_set_random_seed!, env_standardize_randomness!, env_message, env_cleanup!
export tasks, portable, tells_success, whole_turns, repeatable
export Cell, Cells, Begun, Earned, ShownObservations, fault!
export Experiment, rl_init!, rl_start!, rl_step!, rl_episode!, rl_episode_trajectory!, rl_return, rl_num_steps,
    rl_num_episodes, rl_cleanup!, rl_freeze!, rl_standardize_randomness!, rl_get_state, rl_set_state!,
    rl_get_random_seed, rl_set_random_seed!, rl_agent_message, rl_env_message, rl_env_start!, rl_env_step!,
    rl_agent_start!, rl_agent_step!, rl_agent_end!, rl_tasks, rl_iterate_goal!, rl_success, rl_adapt_begin!,
    rl_adapt!
export Started, Stepped, Trajectory
export TaskSpec, TensorSpec, Box, Discrete, MultiDiscrete, MultiBinary
export ReglueError, UsageError, RoutineRefused, AgentFault, EnvironmentFault, Unreachable, Refused, SessionLost
export Rng, word!, uniform!, below!

include("errors.jl")
include("spec.jl")
include("rng.jl")
include("tensors.jl")
include("goals.jl")
include("turn.jl")
include("agent.jl")
include("episodes.jl")
include("environment.jl")
include("library.jl")
include("handle.jl")
include("calls.jl")
include("agent_calls.jl")
include("environment_calls.jl")
include("rows.jl")
include("experiment.jl")
include("routines.jl")
include("half_steps.jl")
include("connect.jl")
include("precompile.jl")

end
