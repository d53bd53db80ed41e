# The environment's side of RL-Glue, over slots.

"""
Derive from it, and write [`env_init!`](@ref), [`env_start!`](@ref) and [`env_step!`](@ref). Other routines are optional:

```julia
using Reglue

mutable struct Coin <: Environment
    sides::Dict{Int,Int}  # by slot
end

Reglue.env_init!(::Coin, slots) =
    TaskSpec([TensorSpec("nothing", Bool)], [TensorSpec("guess", Int64, (), Discrete(2))])

function Reglue.env_start!(coin::Coin, begun, cells)
    for (slot, cell) in zip(cells.slots, cells.cells)
        coin.sides[slot] = below!(Rng(cell.seed, cell.repeat), 2)
    end
end

function Reglue.env_step!(coin::Coin, earned, actions, slots)
    earned.rewards .= actions[] .== getindex.(Ref(coin.sides), slots)
    earned.terminated .= true
end

Reglue.main(Coin(Dict()); address = "127.0.0.1:4096", token = "SECRET")
```
"""
abstract type Environment end

"The episode to play: the cell and the actions decide every bit of it, whatever was played before and in whichever slot."
struct Cell
    task::String
    variant::Int  # 0 to the task's variants - 1
    seed::UInt64  # all random numbers follow from it and from `repeat`, as Rng(seed, repeat) does
    repeat::UInt64
    phase::Phase  # an episode of EVALUATE ends at its first success
    steps::UInt64  # of the run before this episode; 0 if runs are not counted in steps
end

"Episodes that begin: their slots, counted from 1, and the [`Cell`](@ref) of each."
struct Cells
    slots::Vector{Int}
    cells::Vector{Cell}
end

Base.length(cells::Cells) = length(cells.slots)

"What [`env_start!`](@ref) fills in: first observations, zeros until written. [`fault!`](@ref) reports a slot that failed."
struct Begun{O<:ShownObservations}
    observations::O
    faults::Dict{Int,String}
end

"What [`env_step!`](@ref) fills in, zeros and false until written. [`fault!`](@ref) reports a slot that failed."
struct Earned{O<:ShownObservations}
    rewards::Vector{Float64}  # of the actions, task units, unclipped, finite
    terminated::Vector{Bool}  # the task ended
    truncated::Vector{Bool}  # time ran out
    success::Vector{Bool}  # the task's own flag, at this step; agents do not see it
    observations::O
    faults::Dict{Int,String}
end

"""
    fault!(begun, slot, what)
    fault!(earned, slot, what)

Say what failed in `slot`, counted from 1: its episode is void, and the others play on.
"""
fault!(filled::Union{Begun,Earned}, slot::Integer, what::AbstractString) = (filled.faults[slot] = what; nothing)

# What an environment offers.

"""
    tasks(environment) -> Vector{Pair{String,Int}}

The tasks that can be played, and how many variants (goals, configurations) each has: `["task" => 1]` by default. The
first is what RL_start plays.
"""
tasks(::Environment) = ["task" => 1]

max_slots(::Environment) = 0

zero_copy(::Environment) = false

"""
    portable(environment) -> Bool

True if another process of this environment can set a state from this one; false by default.
"""
portable(::Environment) = false

"""
    tells_success(environment) -> Bool

False if its episodes never report success: the score is then the mean return. True by default.
"""
tells_success(::Environment) = true

"""
    whole_turns(environment) -> Bool

True if a step may move every slot, and not those alone that it names; false by default.
"""
whole_turns(::Environment) = false

"""
    repeatable(environment) -> Bool

False if its cells do not decide its episodes; true by default.
"""
repeatable(::Environment) = true

# RL-Glue's routines, in the order in which they are called. Slots count from 1.

"""
    env_init!(environment, slots) -> TaskSpec

Begin anew: no slot has an episode then, and randomness is not standardized. `TaskSpec.slots` is filled in for you.
"""
function env_init! end

"""
    env_start!(environment, begun::Begun, cells::Cells)

Begin the episode `cells.cells[i]` in slot `cells.slots[i]`; one in play there ends. Write first observations:
`begun.observations[][:, i] .= …`. What it throws, as what [`env_step!`](@ref) throws, fails all slots of the exchange.
"""
function env_start! end

"""
    env_step!(environment, earned::Earned, actions::ChosenActions, slots)

Take one step in each of `slots`; row i of `actions` is of `slots[i]`. Clip actions outside a Box. Write what
it earned: `earned.rewards[i] = …`, `earned.observations[][:, i] .= …`, `earned.terminated[i] = true`.
"""
function env_step! end

"""
    env_get_state(environment, slot) -> Vector{UInt8}

The slot's whole state during an episode, with its random generators, in a format that [`env_set_state!`](@ref)
recognizes. Throws `RoutineRefused(:OUT_OF_ORDER, got, wanted)` outside an episode. Optional, as all that follow.
"""
function env_get_state end

"""
    env_set_state!(environment, slot, state::Vector{UInt8})

Continue from `state`, to the bit. Throws `RoutineRefused(:UNKNOWN_KEY, got, wanted)` if this environment did not give it.
"""
function env_set_state! end

"""
    env_get_random_seed(environment, slot) -> Vector{UInt8}

The state of the slot's random generators; throws as [`env_get_state`](@ref).
"""
function env_get_random_seed end

"""
    env_set_random_seed!(environment, slot, seed::Vector{UInt8})

Continue the slot's random numbers from `seed`; throws as [`env_set_state!`](@ref).
"""
function env_set_random_seed! end

"""
    env_standardize_randomness!(environment, seed)

From now on, the n-th start (n = 0, 1, …) draws from `Rng(seed, n)`, until the next [`env_init!`](@ref).
"""
function env_standardize_randomness! end

"""
    env_message(environment, text::String) -> String

Answer a message from the benchmark; `""` without a method for it.
"""
env_message(::Environment, text) = ""

"""
    env_cleanup!(environment)

Release what [`env_init!`](@ref) took.
"""
env_cleanup!(::Environment) = nothing

const ENVIRONMENT_ROUTINES = (
    (env_init!, (Int,)),
    (env_start!, (Begun, Cells)),
    (env_step!, (Earned, ChosenActions, Vector{Int})),
    (env_get_state, (Int,)),
    (env_set_state!, (Int, Vector{UInt8})),
    (env_get_random_seed, (Int,)),
    (env_set_random_seed!, (Int, Vector{UInt8})),
    (env_standardize_randomness!, (UInt64,)),
    (env_message, (String,)),
    (env_cleanup!, ()),
)

"Throws UsageError, naming the routine, if it lacks one, or a routine's method cannot be chosen."
function check_routines(::T) where {T<:Environment}
    name = nameof(T)
    check_ambiguous(T, ENVIRONMENT_ROUTINES)
    hasmethod(env_init!, Tuple{T,Int}) || throw(lacking(T, "env_init!(::$name, slots)"))
    hasmethod(env_start!, Tuple{T,Begun,Cells}) || throw(lacking(T, "env_start!(::$name, begun, cells)"))
    hasmethod(env_step!, Tuple{T,Earned,ChosenActions,Vector{Int}}) ||
        throw(lacking(T, "env_step!(::$name, earned, actions, slots)"))
    return nothing
end
