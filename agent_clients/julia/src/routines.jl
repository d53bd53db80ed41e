# RL-Glue's routines, over slots.

"""
    rl_init!(rl; slots = 1, seed = 0, task = "", variant = 0) -> TaskSpec

RL_init: env_init, then agent_init. Counts are zero again, and all random numbers follow from `seed`, 0 to 2^63 - 1.
`task` and `variant` say what to play; an empty `task` is the environment's first.
"""
function rl_init!(rl::Experiment; slots = 1, seed = 0, task = "", variant = 0)
    spec = Ref{Ptr{CSpec}}(C_NULL)
    many, seed = checked_integer(UInt32, "slots", slots, 1), checked_seed(seed)
    check(rl, @gc_safe ccall(symbol(:reglue_rl_init), Cint,
        (Ptr{Cvoid}, UInt32, UInt64, Cstring, UInt32, Ptr{Ptr{CSpec}}),
        rl, many, seed, checked_task(task), checked_variant(variant), spec))
    rl.task = TypedSpec(task_spec(spec[]))
    return rl.task.spec
end

"""
    rl_tasks(rl) -> Vector{Pair{String,Int}}

RL_tasks: what the environment can play, since [`rl_init!`](@ref): each task with its number of variants.
"""
function rl_tasks(rl::Experiment)
    count, name, variants = Ref{Csize_t}(0), Ref(Cstring(C_NULL)), Ref(UInt32(0))
    check(rl, @gc_safe ccall(symbol(:reglue_rl_num_tasks), Cint, (Ptr{Cvoid}, Ptr{Csize_t}), rl, count))
    return map(1:Int(count[])) do number
        check(rl, @gc_safe ccall(symbol(:reglue_rl_task), Cint, (Ptr{Cvoid}, Csize_t, Ptr{Cstring}, Ptr{UInt32}),
            rl, number - 1, name, variants))
        unsafe_string(name[]) => Int(variants[])
    end
end

"""
    rl_start!(rl, slots = []; task = nothing, variant = nothing) -> Started

RL_start in `slots`, or in all: first observations and actions. A live episode is cut off.

The slots play `task` and `variant` (from 0) from now on, if either is named: by default variant 0 of that task, or that variant
of each slot's own task. No episode may be live there. The agent does not learn of goals, and keeps what it knows; a freeze
goes on.
"""
function rl_start!(rl::Experiment, slots = (); task = nothing, variant = nothing)
    rows, slots = Ref{Ptr{CRows}}(C_NULL), checked_slots(slots)
    if task === variant === nothing
        check(rl, @gc_safe ccall(symbol(:reglue_rl_start), Cint, (Ptr{Cvoid}, Ptr{UInt32}, Csize_t, Ptr{Ptr{CRows}}),
            rl, slots, length(slots), rows))
    else
        check(rl, @gc_safe ccall(symbol(:reglue_rl_start_goal), Cint,
            (Ptr{Cvoid}, Ptr{UInt32}, Csize_t, Cstring, UInt32, Ptr{Ptr{CRows}}),
            rl, slots, length(slots), checked_task(task), checked_variant(variant), rows))
    end
    return started(rl.task, unsafe_load(rows[]))
end

"""
    rl_step!(rl, slots = []) -> Stepped

RL_step in `slots`, or in all live ones. Plays the agent's pending action.
"""
function rl_step!(rl::Experiment, slots = ())
    rows, slots = Ref{Ptr{CRows}}(C_NULL), checked_slots(slots)
    check(rl, @gc_safe ccall(symbol(:reglue_rl_step), Cint, (Ptr{Cvoid}, Ptr{UInt32}, Csize_t, Ptr{Ptr{CRows}}),
        rl, slots, length(slots), rows))
    return stepped(rl.task, unsafe_load(rows[]))
end

"""
    rl_episode!(rl, max_steps = 0, slots = []; task = nothing, variant = nothing) -> Bool

RL_episode of 3.0: one episode in each slot; true if all ended by themselves. The start counts as the first of
`max_steps`; 0 is no limit. No agent_end follows an episode that was cut off. `task` and `variant` are as of
[`rl_start!`](@ref).
"""
function rl_episode!(rl::Experiment, max_steps = 0, slots = (); task = nothing, variant = nothing)
    ended, slots, most = Ref{Int32}(0), checked_slots(slots), checked_integer(UInt64, "max_steps", max_steps)
    if task === variant === nothing
        check(rl, @gc_safe ccall(symbol(:reglue_rl_episode), Cint,
            (Ptr{Cvoid}, UInt64, Ptr{UInt32}, Csize_t, Ptr{Int32}),
            rl, most, slots, length(slots), ended))
    else
        check(rl, @gc_safe ccall(symbol(:reglue_rl_episode_goal), Cint,
            (Ptr{Cvoid}, UInt64, Ptr{UInt32}, Csize_t, Cstring, UInt32, Ptr{Int32}),
            rl, most, slots, length(slots), checked_task(task), checked_variant(variant), ended))
    end
    return ended[] != 0
end

"""
    rl_iterate_goal!(rl, slots = [])

RL_iterate_goal: each slot's next start plays the next variant of its task, after the last one the first. A slot that
has not played since [`rl_init!`](@ref) starts with what `rl_init!` chose.
"""
function rl_iterate_goal!(rl::Experiment, slots = ())
    slots = checked_slots(slots)
    check(rl, @gc_safe ccall(symbol(:reglue_rl_iterate_goal), Cint, (Ptr{Cvoid}, Ptr{UInt32}, Csize_t),
        rl, slots, length(slots)))
end

"""
    rl_episode_trajectory!(rl, steps, slot = 1) -> Trajectory

RL_episode of 1.0: at most `steps` steps of the environment, and all of them.
"""
function rl_episode_trajectory!(rl::Experiment, steps, slot = 1)
    checked_integer(UInt64, "steps", steps)
    started = rl_start!(rl, (slot,))
    seen, done, rewards = [started.observations], [started.actions], Float64[]
    terminated = truncated = false
    while !terminated && !truncated && length(rewards) < steps
        stepped = rl_step!(rl, (slot,))
        push!(rewards, only(stepped.rewards))
        terminated, truncated = only(stepped.terminated), only(stepped.truncated)
        if !terminated && !truncated
            push!(seen, stepped.observations)
            push!(done, stepped.actions)
        end
    end
    return Trajectory(joined(seen), joined(done), rewards, terminated, truncated)
end

"""
    rl_return(rl, slot = 1) -> Float64

RL_return: the sum of rewards of the present or last episode. Discount inside the environment.
"""
function rl_return(rl::Experiment, slot = 1)
    sum = Ref(0.0)
    check(rl, @gc_safe ccall(symbol(:reglue_rl_return), Cint, (Ptr{Cvoid}, UInt32, Ptr{Float64}),
        rl, checked_slot(slot), sum))
    return sum[]
end

"""
    rl_num_steps(rl, slot = 1) -> Int

RL_num_steps of 3.0: actions that the agent chose in the present or last episode.
"""
function rl_num_steps(rl::Experiment, slot = 1)
    steps = Ref(UInt64(0))
    check(rl, @gc_safe ccall(symbol(:reglue_rl_num_steps), Cint, (Ptr{Cvoid}, UInt32, Ptr{UInt64}),
        rl, checked_slot(slot), steps))
    return Int(steps[])
end

"""
    rl_num_episodes(rl, slot = 1) -> Int

RL_num_episodes: episodes that ended by themselves since RL_init.
"""
function rl_num_episodes(rl::Experiment, slot = 1)
    episodes = Ref(UInt64(0))
    check(rl, @gc_safe ccall(symbol(:reglue_rl_num_episodes), Cint, (Ptr{Cvoid}, UInt32, Ptr{UInt64}),
        rl, checked_slot(slot), episodes))
    return Int(episodes[])
end

"""
    rl_success(rl, slot = 1) -> Bool

RL_success: whether some step of the present or last episode was a success.
"""
function rl_success(rl::Experiment, slot = 1)
    success = Ref{Int32}(0)
    check(rl, @gc_safe ccall(symbol(:reglue_rl_success), Cint, (Ptr{Cvoid}, UInt32, Ptr{Int32}),
        rl, checked_slot(slot), success))
    return success[] != 0
end

"""
    rl_cleanup!(rl)

RL_cleanup: env_cleanup, then agent_cleanup. Counts stay; [`rl_init!`](@ref) comes next.
"""
rl_cleanup!(rl::Experiment) = check(rl, @gc_safe ccall(symbol(:reglue_rl_cleanup), Cint, (Ptr{Cvoid},), rl))

"""
    rl_freeze!(rl)

RL_freeze: agent_freeze. What follows is judged, until [`rl_init!`](@ref) or [`rl_adapt_begin!`](@ref).
"""
rl_freeze!(rl::Experiment) = check(rl, @gc_safe ccall(symbol(:reglue_rl_freeze), Cint, (Ptr{Cvoid},), rl))

"""
    rl_adapt_begin!(rl)

RL_adapt_begin: adapt_begin. The agent returns to what it was before adaptation; it adapts in what follows, until
[`rl_freeze!`](@ref). Refused as `:NOT_SUPPORTED` if it cannot. No episode may be live: it has ended, or was cut off by
the limit of [`rl_episode!`](@ref).
"""
rl_adapt_begin!(rl::Experiment) = check(rl, @gc_safe ccall(symbol(:reglue_rl_adapt_begin), Cint, (Ptr{Cvoid},), rl))

"""
    rl_adapt!(rl)

RL_adapt: adapt. An adaptation step is over: the agent learns from its episodes, at least one, since
[`rl_adapt_begin!`](@ref) or the last `rl_adapt!`. None may be live.
"""
rl_adapt!(rl::Experiment) = check(rl, @gc_safe ccall(symbol(:reglue_rl_adapt), Cint, (Ptr{Cvoid},), rl))

"""
    rl_standardize_randomness!(rl, seed = 0)

RL_standardize_randomness: from the next start on, the environment's random numbers in the n-th start (n = 0, 1, …) are
those of `Rng(seed, n)`, on every platform. `seed` is 0 to 2^63 - 1.
"""
rl_standardize_randomness!(rl::Experiment, seed = 0) =
    check(rl, @gc_safe ccall(symbol(:reglue_rl_standardize_randomness), Cint, (Ptr{Cvoid}, UInt64),
        rl, checked_seed(seed)))

"""
    rl_get_state(rl, slot = 1) -> String

RL_get_state, during an episode: a key that names the environment's state.
"""
function rl_get_state(rl::Experiment, slot = 1)
    key = Ref(Cstring(C_NULL))
    check(rl, @gc_safe ccall(symbol(:reglue_rl_get_state), Cint, (Ptr{Cvoid}, UInt32, Ptr{Cstring}),
        rl, checked_slot(slot), key))
    return unsafe_string(key[])
end

"""
    rl_set_state!(rl, key, slot = 1)

RL_set_state: the environment continues from there to the bit. The agent's next action and the counts do not change.
"""
rl_set_state!(rl::Experiment, key, slot = 1) =
    check(rl, @gc_safe ccall(symbol(:reglue_rl_set_state), Cint, (Ptr{Cvoid}, UInt32, Cstring),
        rl, checked_slot(slot), checked_text(key)))

"""
    rl_get_random_seed(rl, slot = 1) -> String

RL_get_random_seed: a key that names the state of the environment's random generators.
"""
function rl_get_random_seed(rl::Experiment, slot = 1)
    key = Ref(Cstring(C_NULL))
    check(rl, @gc_safe ccall(symbol(:reglue_rl_get_random_seed), Cint, (Ptr{Cvoid}, UInt32, Ptr{Cstring}),
        rl, checked_slot(slot), key))
    return unsafe_string(key[])
end

"""
    rl_set_random_seed!(rl, key, slot = 1)

RL_set_random_seed: the environment's random numbers continue from there.
"""
rl_set_random_seed!(rl::Experiment, key, slot = 1) =
    check(rl, @gc_safe ccall(symbol(:reglue_rl_set_random_seed), Cint, (Ptr{Cvoid}, UInt32, Cstring),
        rl, checked_slot(slot), checked_text(key)))

"""
    rl_agent_message(rl, text) -> String

RL_agent_message; legal at any time.
"""
function rl_agent_message(rl::Experiment, text)
    answer = Ref(Cstring(C_NULL))
    check(rl, @gc_safe ccall(symbol(:reglue_rl_agent_message), Cint, (Ptr{Cvoid}, Cstring, Ptr{Cstring}),
        rl, checked_text(text), answer))
    return unsafe_string(answer[])
end

"""
    rl_env_message(rl, text) -> String

RL_env_message; legal at any time.
"""
function rl_env_message(rl::Experiment, text)
    answer = Ref(Cstring(C_NULL))
    check(rl, @gc_safe ccall(symbol(:reglue_rl_env_message), Cint, (Ptr{Cvoid}, Cstring, Ptr{Cstring}),
        rl, checked_text(text), answer))
    return unsafe_string(answer[])
end
