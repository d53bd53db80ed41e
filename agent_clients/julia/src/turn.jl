# One exchange over many episodes: which of them end, continue and start.

"What episodes are for: `TRAIN`, `ADAPT` or `EVALUATE`; numbered as in the protocol."
@enum Phase::Int32 TRAIN = 1 ADAPT = 2 EVALUATE = 3

"[`Phase`](@ref) in which the agent learns while it plays."
TRAIN

"[`Phase`](@ref) of a trial's experience, which [`adapt!`](@ref) learns from."
ADAPT

"[`Phase`](@ref) in which the agent is judged."
EVALUATE

"How an episode ended: `TERMINATED`, `TRUNCATED` or `VOID`."
@enum EndKind::UInt8 TERMINATED = 1 TRUNCATED = 2 VOID = 3

"[`EndKind`](@ref): the task ended, do not bootstrap."
TERMINATED

"[`EndKind`](@ref): time ran out, bootstrap from the last observation."
TRUNCATED

"[`EndKind`](@ref): the environment failed, and the episode does not count."
VOID

"Bit of `Steps.flags`: no action came in time, and a default was played."
const DEFAULTED = 0x01

"Bit of `Steps.flags`: the action before was outside its box."
const CLIPPED = 0x02

"Episodes that ended: their slots, counted from 1, and how."
struct Ends
    slots::Vector{Int}
    kinds::Vector{EndKind}
    phase::Phase
    goals::Goals
end

"Episodes that continue: their slots, counted from 1, and bits for what the glue did with the action before."
struct Steps
    slots::Vector{Int}
    flags::Vector{UInt8}
    phase::Phase
    goals::Goals
end

"Episodes that begin: their slots, counted from 1, and a seed for the agent's own random numbers in each."
struct Starts
    slots::Vector{Int}
    seeds::Vector{UInt64}
    phase::Phase
    goals::Goals
end

Base.length(part::Union{Ends,Steps,Starts}) = length(part.slots)

get_goal(part::Union{Ends,Steps,Starts}, slot::Integer) = get_goal(part.goals, slot)

"The agent's time left, microseconds; `nothing` is no limit."
struct Budget
    step_us::Union{Nothing,UInt64}  # for this call
    bank_us::Union{Nothing,UInt64}  # that slow calls may draw on beyond it
    adapt_us::Union{Nothing,UInt64}  # for all adaptation calls of this wave
    run_us::Union{Nothing,UInt64}  # for the whole run
end

"A TaskSpec whose tensors' types the compiler knows, and what stays the same from turn to turn."
struct TypedSpec{O<:Tuple,A<:Tuple}
    spec::TaskSpec
    observations::O  # a TensorSpec each
    actions::A
    observation_names::Vector{String}
    action_names::Vector{String}
    goals::Goals
end

TypedSpec(spec::TaskSpec) = TypedSpec(
    spec,
    Tuple(spec.observations),
    Tuple(spec.actions),
    String[each.name for each in spec.observations],
    String[each.name for each in spec.actions],
    Goals(spec),
)

"""
    Turn

One exchange over many episodes. `rewards` are of the actions before, of the ends, then of the steps (NaN
where they are withheld). `Reglue.observations(turn, part)` has the rows of `turn.ends`, `turn.steps` or
`turn.starts`; `Reglue.actions(turn, part)` those of the latter two, to be written. `turn.task.spec` is the task.
"""
struct Turn{T<:TypedSpec,O<:Observations,A<:Actions}
    ends::Ends
    steps::Steps
    starts::Starts
    rewards::Vector{Float64}
    task::T
    seen::NTuple{3,O}  # of ends, steps, starts
    done::NTuple{2,A}  # of steps, starts
    abandoned::Vector{Int}  # slots, counted from 1
end

"""
A turn whose rows of observations (ends, steps, starts) and actions (steps, starts) are read from these memories; they
are its arrays' memory if `is_shared`.
"""
function Turn(
    ends::Ends,
    steps::Steps,
    starts::Starts,
    rewards::Vector{Float64},
    task::TypedSpec,
    seen::Ptr{Ptr{Cvoid}},
    done::Ptr{Ptr{Cvoid}},
    is_shared::Bool = false,
)
    abandoned, ended, stepped = Int[], length(ends), length(steps)
    observed(first, part) =
        Observations(task.observation_names, rows_at(task.observations, seen, first, length(part), is_shared))
    wanted(first, part) = Actions(task.action_names, rows_at(task.actions, done, first, length(part), is_shared), abandoned)
    seen_rows = observed(0, ends), observed(ended, steps), observed(ended + stepped, starts)
    return Turn(ends, steps, starts, rewards, task, seen_rows, (wanted(0, steps), wanted(stepped, starts)), abandoned)
end

get_goal(turn::Turn, slot::Integer) = get_goal(turn.starts, slot)

observations(turn::Turn, ::Ends) = turn.seen[1]
observations(turn::Turn, ::Steps) = turn.seen[2]
observations(turn::Turn, ::Starts) = turn.seen[3]

actions(turn::Turn, ::Steps) = turn.done[1]
actions(turn::Turn, ::Starts) = turn.done[2]

"Writes the turn's actions to where the library sends them from. Throws UsageError for an array that was resized."
function write_actions!(turn::Turn, memories::Ptr{Ptr{Cvoid}})
    stepped, started = length(turn.steps), length(turn.starts)
    write_rows!(memories, 0, stepped, turn.task.actions, turn.done[1].arrays)
    write_rows!(memories, stepped, started, turn.task.actions, turn.done[2].arrays)
end

"""
    abandon!(actions, slot)
    abandon!(turn, slot)

Give the episode in `slot`, counted from 1, up: its action is not looked at, it counts as played and failed, and no
end follows. The routine fails with a UsageError if no episode steps or starts there.
"""
abandon!(turn::Turn, slot::Integer) = (push!(turn.abandoned, slot); nothing)

function abandon!(actions::Actions, slot::Integer)
    actions.are_used = true
    push!(actions.abandoned, slot)
    return nothing
end
