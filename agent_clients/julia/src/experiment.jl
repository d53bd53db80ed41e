# A benchmark program's end of a session: RL-Glue's routines, over slots.
#
# Source: the RL-Glue concepts page (1.0) and Tanner & White 2009, "RL-Glue: Language-Independent Software for
# Reinforcement-Learning Experiments", JMLR 10 (3.0); where they differ, each form has a name of its own.

"""
    Experiment(; address, token, ca, tls_name, name, connect_timeout_s = 60, transport = :auto,
        timeout_s = 86_400)
    Experiment(program; options...)

Joins a glue as a benchmark program, with [`Reglue.connect`](@ref)'s options; `program(rl)` calls the routines, and
the experiment is closed when it returns:

```julia
Experiment() do rl
    rl_init!(rl)
    rl_episode!(rl, 10_000)
    println(rl_num_steps(rl), " ", rl_return(rl))
    rl_cleanup!(rl)
end
```

Routines wait until the glue has an agent and an environment, at most `timeout_s` seconds. If the connection breaks it
is made again, as long as the glue allows, and every routine is carried out once. Slots count from 1.

Throws Unreachable, Refused, UsageError. Routines throw RoutineRefused, which changes nothing; AgentFault and
EnvironmentFault, which end the episodes of the slots; SessionLost; UsageError.
"""
mutable struct Experiment
    handle::Handle
    task::Union{Nothing,TypedSpec}  # of the last rl_init!
end

function Experiment(; name::AbstractString = "experiment", timeout_s::Real = 86_400, options...)
    0.001 <= timeout_s <= 1e9 || throw(UsageError("got timeout_s $timeout_s, wanted 0.001 to 1e9"))  # before it joins
    rl = Experiment(open_handle("reglue_experiment_", Joining(name; options...)), nothing)
    check(rl, ccall(symbol(:reglue_experiment_timeout), Cint, (Ptr{Cvoid}, Cdouble), rl, timeout_s))
    return rl
end

function Experiment(program; options...)
    rl = Experiment(; options...)
    try
        return program(rl)
    finally
        close(rl)
    end
end

"""
    close(rl::Experiment)

Leave; the glue lets the agent and the environment go. Nothing happens the second time.
"""
function Base.close(rl::Experiment)
    handle, rl.handle = rl.handle, Handle(rl.handle.prefix, C_NULL)
    close_handle(handle)
end

"First observations, and the actions that the agent chose: one row a slot. They are the program's to keep."
struct Started{O<:Observations,A<:ChosenActions}
    slots::Vector{Int}
    observations::O
    actions::A  # no tensors after rl_env_start!
end

"What a step earned: one row a slot. They are the program's to keep."
struct Stepped{O<:Observations,A<:ChosenActions}
    slots::Vector{Int}
    rewards::Vector{Float64}  # task units
    observations::O
    terminated::BitVector  # the task ended
    truncated::BitVector  # time ran out
    success::BitVector  # the task's own flag, at this step
    actions::A  # zeros where the episode is over; no tensors after rl_env_step!
end

"""
An episode as RL-Glue 1.0's RL_episode returns it: o0, a0, r1, o1, a1, …, rT, without the terminal observation. An
episode that was cut off ends with the observation and action after the last reward.
"""
struct Trajectory{O<:Observations,A<:ChosenActions}
    observations::O  # rows o0, o1, …: T of them if it ended, else T + 1
    actions::A  # likewise
    rewards::Vector{Float64}  # r1, …, rT
    terminated::Bool
    truncated::Bool
end

# The routines.

"""
    rl_init!(rl; slots = 1, seed = 0, task = "", variant = 0) -> TaskSpec

RL_init: env_init, then agent_init. Counts are zero again, and all random numbers follow from `seed`, 0 to 2^63 - 1.
`task` and `variant` say what to play; an empty `task` is the environment's first.
"""
function rl_init!(rl::Experiment; slots::Integer = 1, seed::Integer = 0, task = "", variant = 0)
    spec = Ref{Ptr{CSpec}}(C_NULL)
    many, seed = given(UInt32, "slots", slots, 1), given_seed(seed)
    check(rl, @gc_safe ccall(symbol(:reglue_rl_init), Cint,
        (Ptr{Cvoid}, UInt32, UInt64, Cstring, UInt32, Ptr{Ptr{CSpec}}),
        rl, many, seed, given_task(task), given_variant(variant), spec))
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

The slots play `task` and `variant` (from 0) from now on, if given: by default variant 0 of that task, or that variant
of each slot's own task. No episode may be live there. The agent is not told of goals, and keeps what it knows; a freeze
goes on.
"""
function rl_start!(rl::Experiment, slots = (); task = nothing, variant = nothing)
    rows, slots = Ref{Ptr{CRows}}(C_NULL), given_slots(slots)
    if task === variant === nothing
        check(rl, @gc_safe ccall(symbol(:reglue_rl_start), Cint, (Ptr{Cvoid}, Ptr{UInt32}, Csize_t, Ptr{Ptr{CRows}}),
            rl, slots, length(slots), rows))
    else
        check(rl, @gc_safe ccall(symbol(:reglue_rl_start_goal), Cint,
            (Ptr{Cvoid}, Ptr{UInt32}, Csize_t, Cstring, UInt32, Ptr{Ptr{CRows}}),
            rl, slots, length(slots), given_task(task), given_variant(variant), rows))
    end
    return started(rl.task, unsafe_load(rows[]))
end

"""
    rl_step!(rl, slots = []) -> Stepped

RL_step in `slots`, or in all live ones. Plays the agent's pending action.
"""
function rl_step!(rl::Experiment, slots = ())
    rows, slots = Ref{Ptr{CRows}}(C_NULL), given_slots(slots)
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
function rl_episode!(rl::Experiment, max_steps::Integer = 0, slots = (); task = nothing, variant = nothing)
    ended, slots, most = Ref{Int32}(0), given_slots(slots), given(UInt64, "max_steps", max_steps)
    if task === variant === nothing
        check(rl, @gc_safe ccall(symbol(:reglue_rl_episode), Cint,
            (Ptr{Cvoid}, UInt64, Ptr{UInt32}, Csize_t, Ptr{Int32}),
            rl, most, slots, length(slots), ended))
    else
        check(rl, @gc_safe ccall(symbol(:reglue_rl_episode_goal), Cint,
            (Ptr{Cvoid}, UInt64, Ptr{UInt32}, Csize_t, Cstring, UInt32, Ptr{Int32}),
            rl, most, slots, length(slots), given_task(task), given_variant(variant), ended))
    end
    return ended[] != 0
end

"""
    rl_iterate_goal!(rl, slots = [])

RL_iterate_goal: each slot's next start plays the next variant of its task, after the last one the first. Where nothing
was played since [`rl_init!`](@ref), the next one is that of `rl_init!`.
"""
function rl_iterate_goal!(rl::Experiment, slots = ())
    slots = given_slots(slots)
    check(rl, @gc_safe ccall(symbol(:reglue_rl_iterate_goal), Cint, (Ptr{Cvoid}, Ptr{UInt32}, Csize_t),
        rl, slots, length(slots)))
end

"""
    rl_episode_trajectory!(rl, steps, slot = 1) -> Trajectory

RL_episode of 1.0: at most `steps` steps of the environment, and all of them.
"""
function rl_episode_trajectory!(rl::Experiment, steps::Integer, slot::Integer = 1)
    given(UInt64, "steps", steps)
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
function rl_return(rl::Experiment, slot::Integer = 1)
    sum = Ref(0.0)
    check(rl, @gc_safe ccall(symbol(:reglue_rl_return), Cint, (Ptr{Cvoid}, UInt32, Ptr{Float64}),
        rl, given_slot(slot), sum))
    return sum[]
end

"""
    rl_num_steps(rl, slot = 1) -> Int

RL_num_steps of 3.0: actions that the agent chose in the present or last episode.
"""
function rl_num_steps(rl::Experiment, slot::Integer = 1)
    steps = Ref(UInt64(0))
    check(rl, @gc_safe ccall(symbol(:reglue_rl_num_steps), Cint, (Ptr{Cvoid}, UInt32, Ptr{UInt64}),
        rl, given_slot(slot), steps))
    return Int(steps[])
end

"""
    rl_num_episodes(rl, slot = 1) -> Int

RL_num_episodes: episodes that ended by themselves since RL_init.
"""
function rl_num_episodes(rl::Experiment, slot::Integer = 1)
    episodes = Ref(UInt64(0))
    check(rl, @gc_safe ccall(symbol(:reglue_rl_num_episodes), Cint, (Ptr{Cvoid}, UInt32, Ptr{UInt64}),
        rl, given_slot(slot), episodes))
    return Int(episodes[])
end

"""
    rl_success(rl, slot = 1) -> Bool

RL_success: whether some step of the present or last episode was a success.
"""
function rl_success(rl::Experiment, slot::Integer = 1)
    success = Ref{Int32}(0)
    check(rl, @gc_safe ccall(symbol(:reglue_rl_success), Cint, (Ptr{Cvoid}, UInt32, Ptr{Int32}),
        rl, given_slot(slot), success))
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
rl_standardize_randomness!(rl::Experiment, seed::Integer = 0) =
    check(rl, @gc_safe ccall(symbol(:reglue_rl_standardize_randomness), Cint, (Ptr{Cvoid}, UInt64),
        rl, given_seed(seed)))

"""
    rl_get_state(rl, slot = 1) -> String

RL_get_state, during an episode: a key that names the environment's state.
"""
function rl_get_state(rl::Experiment, slot::Integer = 1)
    key = Ref(Cstring(C_NULL))
    check(rl, @gc_safe ccall(symbol(:reglue_rl_get_state), Cint, (Ptr{Cvoid}, UInt32, Ptr{Cstring}),
        rl, given_slot(slot), key))
    return unsafe_string(key[])
end

"""
    rl_set_state!(rl, key, slot = 1)

RL_set_state: the environment continues from there to the bit. The agent's next action and the counts do not change.
"""
rl_set_state!(rl::Experiment, key::AbstractString, slot::Integer = 1) =
    check(rl, @gc_safe ccall(symbol(:reglue_rl_set_state), Cint, (Ptr{Cvoid}, UInt32, Cstring),
        rl, given_slot(slot), given_text(key)))

"""
    rl_get_random_seed(rl, slot = 1) -> String

RL_get_random_seed: a key that names the state of the environment's random generators.
"""
function rl_get_random_seed(rl::Experiment, slot::Integer = 1)
    key = Ref(Cstring(C_NULL))
    check(rl, @gc_safe ccall(symbol(:reglue_rl_get_random_seed), Cint, (Ptr{Cvoid}, UInt32, Ptr{Cstring}),
        rl, given_slot(slot), key))
    return unsafe_string(key[])
end

"""
    rl_set_random_seed!(rl, key, slot = 1)

RL_set_random_seed: the environment's random numbers continue from there.
"""
rl_set_random_seed!(rl::Experiment, key::AbstractString, slot::Integer = 1) =
    check(rl, @gc_safe ccall(symbol(:reglue_rl_set_random_seed), Cint, (Ptr{Cvoid}, UInt32, Cstring),
        rl, given_slot(slot), given_text(key)))

"""
    rl_agent_message(rl, text) -> String

RL_agent_message; legal at any time.
"""
function rl_agent_message(rl::Experiment, text::AbstractString)
    answer = Ref(Cstring(C_NULL))
    check(rl, @gc_safe ccall(symbol(:reglue_rl_agent_message), Cint, (Ptr{Cvoid}, Cstring, Ptr{Cstring}),
        rl, given_text(text), answer))
    return unsafe_string(answer[])
end

"""
    rl_env_message(rl, text) -> String

RL_env_message; legal at any time.
"""
function rl_env_message(rl::Experiment, text::AbstractString)
    answer = Ref(Cstring(C_NULL))
    check(rl, @gc_safe ccall(symbol(:reglue_rl_env_message), Cint, (Ptr{Cvoid}, Cstring, Ptr{Cstring}),
        rl, given_text(text), answer))
    return unsafe_string(answer[])
end

# The half steps, for programs that come between agent and environment. Rows are in the order of `slots`: a Dict of
# arrays by name, or one array if the task has one tensor, of `(size(spec)..., rows)`.

"""
    rl_env_start!(rl, slots = []; task = nothing, variant = nothing) -> Started

RL_env_start: env_start alone; no actions. The agent is not told. `task` and `variant` are as of [`rl_start!`](@ref).
"""
function rl_env_start!(rl::Experiment, slots = (); task = nothing, variant = nothing)
    rows, slots = Ref{Ptr{CRows}}(C_NULL), given_slots(slots)
    if task === variant === nothing
        check(rl, @gc_safe ccall(symbol(:reglue_rl_env_start), Cint, (Ptr{Cvoid}, Ptr{UInt32}, Csize_t, Ptr{Ptr{CRows}}),
            rl, slots, length(slots), rows))
    else
        check(rl, @gc_safe ccall(symbol(:reglue_rl_env_start_goal), Cint,
            (Ptr{Cvoid}, Ptr{UInt32}, Csize_t, Cstring, UInt32, Ptr{Ptr{CRows}}),
            rl, slots, length(slots), given_task(task), given_variant(variant), rows))
    end
    return started(rl.task, unsafe_load(rows[]))
end

"""
    rl_env_step!(rl, actions, slots = [1]) -> Stepped

RL_env_step: env_step alone, with these actions: a Dict of arrays by name or one array, of `(size(spec)..., rows)`.
"""
function rl_env_step!(rl::Experiment, actions, slots = (1,))
    rows, slots = Ref{Ptr{CRows}}(C_NULL), given_slots(slots)
    arrays = given_actions(rl.task, actions, length(slots))
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
    rows, slots = Ref{Ptr{CRows}}(C_NULL), given_slots(slots)
    arrays = given_observations(rl.task, observations, length(slots))
    memories = addresses(arrays)
    GC.@preserve arrays check(rl, @gc_safe ccall(symbol(:reglue_rl_agent_start), Cint,
        (Ptr{Cvoid}, Ptr{UInt32}, Csize_t, Ptr{Ptr{Cvoid}}, Ptr{Ptr{CRows}}),
        rl, slots, length(slots), memories, rows))
    return chosen(rl.task, unsafe_load(rows[]))
end

"""
    rl_agent_step!(rl, rewards, observations, slots = [1]) -> ChosenActions

RL_agent_step: agent_step alone, likewise; `rewards` are one number a slot.
"""
function rl_agent_step!(rl::Experiment, rewards, observations, slots = (1,))
    rows, slots = Ref{Ptr{CRows}}(C_NULL), given_slots(slots)
    arrays = given_observations(rl.task, observations, length(slots))
    rewards, memories = given_rewards(rewards, length(slots)), addresses(arrays)
    GC.@preserve arrays check(rl, @gc_safe ccall(symbol(:reglue_rl_agent_step), Cint,
        (Ptr{Cvoid}, Ptr{UInt32}, Csize_t, Ptr{Float64}, Ptr{Ptr{Cvoid}}, Ptr{Ptr{CRows}}),
        rl, slots, length(slots), rewards, memories, rows))
    return chosen(rl.task, unsafe_load(rows[]))
end

"""
    rl_agent_end!(rl, rewards, observations, slots = [1]; truncated = false)

RL_agent_end: agent_end alone, with the last rewards and observations.
"""
function rl_agent_end!(rl::Experiment, rewards, observations, slots = (1,); truncated::Bool = false)
    slots = given_slots(slots)
    arrays = given_observations(rl.task, observations, length(slots))
    rewards, memories = given_rewards(rewards, length(slots)), addresses(arrays)
    GC.@preserve arrays check(rl, @gc_safe ccall(symbol(:reglue_rl_agent_end), Cint,
        (Ptr{Cvoid}, Ptr{UInt32}, Csize_t, Ptr{Float64}, Ptr{Ptr{Cvoid}}, Int32),
        rl, slots, length(slots), rewards, memories, truncated))
end

# What the library's functions are given.
given_task(::Nothing) = ""
given_task(task::AbstractString) = given_text(task)
given_task(task) = throw(RoutineRefused(:OUT_OF_DOMAIN, "task $(repr(task))", "a string"))
given_variant(variant) = given(UInt32, "variant", something(variant, 0))

Base.cconvert(::Type{Ptr{Cvoid}}, rl::Experiment) = Base.cconvert(Ptr{Cvoid}, rl.handle)

check(rl::Experiment, code) = check(rl.handle, code)
