# The half steps, for programs between agent and environment. Rows are in the order of `slots`: a Dict of
# arrays by name, or one array if the task has one tensor, of `(size(spec)..., rows)`.

"""
    rl_env_start!(rl, slots = []; task = nothing, variant = nothing) -> Started

RL_env_start: env_start alone; no actions. The agent does not notice. `task` and `variant` are as of [`rl_start!`](@ref).
"""
function rl_env_start!(rl::Experiment, slots = (); task = nothing, variant = nothing)
    rows, slots = Ref{Ptr{CRows}}(C_NULL), checked_slots(slots)
    if task === variant === nothing
        check(rl, @gc_safe ccall(symbol(:reglue_rl_env_start), Cint, (Ptr{Cvoid}, Ptr{UInt32}, Csize_t, Ptr{Ptr{CRows}}),
            rl, slots, length(slots), rows))
    else
        check(rl, @gc_safe ccall(symbol(:reglue_rl_env_start_goal), Cint,
            (Ptr{Cvoid}, Ptr{UInt32}, Csize_t, Cstring, UInt32, Ptr{Ptr{CRows}}),
            rl, slots, length(slots), checked_task(task), checked_variant(variant), rows))
    end
    return started(rl.task, unsafe_load(rows[]))
end

"""
    rl_env_step!(rl, actions, slots = [1]) -> Stepped

RL_env_step: env_step alone, with these actions: a Dict of arrays by name or one array, of `(size(spec)..., rows)`.
"""
function rl_env_step!(rl::Experiment, actions, slots = (1,))
    rows, slots = Ref{Ptr{CRows}}(C_NULL), checked_slots(slots)
    arrays = checked_actions(rl.task, actions, length(slots))
    memories = addresses(arrays)
    GC.@preserve arrays check(rl, @gc_safe ccall(symbol(:reglue_rl_env_step), Cint,
        (Ptr{Cvoid}, Ptr{UInt32}, Csize_t, Ptr{Ptr{Cvoid}}, Ptr{Ptr{CRows}}),
        rl, slots, length(slots), memories, rows))
    return stepped(rl.task, unsafe_load(rows[]))
end

"""
    rl_agent_start!(rl, observations, slots = [1]) -> ChosenActions

RL_agent_start: agent_start alone, with these observations, as in [`rl_env_step!`](@ref); the actions are what
[`rl_step!`](@ref) plays next.
"""
function rl_agent_start!(rl::Experiment, observations, slots = (1,))
    rows, slots = Ref{Ptr{CRows}}(C_NULL), checked_slots(slots)
    arrays = checked_observations(rl.task, observations, length(slots))
    memories = addresses(arrays)
    GC.@preserve arrays check(rl, @gc_safe ccall(symbol(:reglue_rl_agent_start), Cint,
        (Ptr{Cvoid}, Ptr{UInt32}, Csize_t, Ptr{Ptr{Cvoid}}, Ptr{Ptr{CRows}}),
        rl, slots, length(slots), memories, rows))
    return actions_of(rl.task, unsafe_load(rows[]))
end

"""
    rl_agent_step!(rl, rewards, observations, slots = [1]) -> ChosenActions

RL_agent_step: agent_step alone, likewise; `rewards` are one number a slot.
"""
function rl_agent_step!(rl::Experiment, rewards, observations, slots = (1,))
    rows, slots = Ref{Ptr{CRows}}(C_NULL), checked_slots(slots)
    arrays = checked_observations(rl.task, observations, length(slots))
    rewards, memories = checked_rewards(rewards, length(slots)), addresses(arrays)
    GC.@preserve arrays check(rl, @gc_safe ccall(symbol(:reglue_rl_agent_step), Cint,
        (Ptr{Cvoid}, Ptr{UInt32}, Csize_t, Ptr{Float64}, Ptr{Ptr{Cvoid}}, Ptr{Ptr{CRows}}),
        rl, slots, length(slots), rewards, memories, rows))
    return actions_of(rl.task, unsafe_load(rows[]))
end

"""
    rl_agent_end!(rl, rewards, observations, slots = [1]; truncated = false)

RL_agent_end: agent_end alone, with the last rewards and observations.
"""
function rl_agent_end!(rl::Experiment, rewards, observations, slots = (1,); truncated::Bool = false)
    slots = checked_slots(slots)
    arrays = checked_observations(rl.task, observations, length(slots))
    rewards, memories = checked_rewards(rewards, length(slots)), addresses(arrays)
    GC.@preserve arrays check(rl, @gc_safe ccall(symbol(:reglue_rl_agent_end), Cint,
        (Ptr{Cvoid}, Ptr{UInt32}, Csize_t, Ptr{Float64}, Ptr{Ptr{Cvoid}}, Int32),
        rl, slots, length(slots), rewards, memories, truncated))
end
