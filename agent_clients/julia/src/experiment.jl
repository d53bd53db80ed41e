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
    catch error
        error isa InterruptException && interrupted(() -> close(rl))
        rethrow()
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

"First observations, and the actions that the agent chose: one row a slot. The program may keep them."
struct Started{O<:Observations,A<:ChosenActions}
    slots::Vector{Int}
    observations::O
    actions::A  # no tensors after rl_env_start!
end

"What a step earned: one row a slot. The program may keep them."
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

Base.cconvert(::Type{Ptr{Cvoid}}, rl::Experiment) = Base.cconvert(Ptr{Cvoid}, rl.handle)

check(rl::Experiment, code) = check(rl.handle, code)
