# The environment for `reglue conformance environment`: an observation is a function of its episode's cell and actions.
# proto/CONFORMANCE.md describes it.

using Reglue

include("rule.jl")
include("spec_text.jl")

"One slot's episode; all but the first three follow from its cell."
struct Episode
    memory::UInt32
    rng::UInt32
    steps::UInt32
    length::UInt32  # steps
    times_out::UInt32  # 1: truncated at its length, else terminated
    is_judged::UInt32  # 1: success ends it
end

mutable struct ConformanceEnvironment <: Environment
    counts::Dict{String,Int}
    spec::TaskSpec  # played from the next init on
    episodes::Dict{Int,Episode}  # that are on, by slot
    standard::Union{Nothing,Tuple{UInt64,UInt64}}  # seed, and starts so far
    failing::Union{Nothing,Int}  # a slot, in the next exchange with it
end

const COUNTED = split(
    "init start step get_state set_state get_random_seed set_random_seed standardize_randomness message cleanup",
)

ConformanceEnvironment() = ConformanceEnvironment(
    Dict(name => 0 for name in COUNTED),
    TaskSpec([TensorSpec("observation", Float64)], [TensorSpec("action", Float64)]),
    Dict(),
    nothing,
    nothing,
)

Reglue.tasks(::ConformanceEnvironment) = ["first" => 4, "second/één" => 1]
Reglue.portable(::ConformanceEnvironment) = true

function Reglue.env_init!(environment::ConformanceEnvironment, slots)
    count!(environment, "init")
    empty!(environment.episodes)
    environment.standard = environment.failing = nothing
    return environment.spec
end

function Reglue.env_start!(environment::ConformanceEnvironment, begun, cells)
    count!(environment, "start", length(cells))
    for (row, slot) in enumerate(cells.slots)
        seed, repeat = numbered!(environment, cells.cells[row])
        episode = episode_of(cells.cells[row], seed, repeat)
        environment.episodes[slot] = moved(environment, episode, episode.memory, begun.observations, row, 0)
        fail_if_due!(environment, begun, slot)
    end
end

function Reglue.env_step!(environment::ConformanceEnvironment, earned, actions, slots)
    count!(environment, "step", length(slots))
    elements = mapreduce(length, +, environment.spec.observations)  # elements of a row
    for (row, slot) in enumerate(slots)
        was = on(environment, slot, "env_step")
        memory = foldl((taken, array) -> take(taken, array, row), values(actions); init = was.memory)
        episode = moved(environment, was, memory, earned.observations, row, was.steps + 1)
        make_elements!(view(earned.rewards, row:row), Box(), episode.memory, elements)
        make_elements!(view(earned.success, row:row), Box(), episode.memory, elements + 1)
        end_episode!(earned, episode, row)
        environment.episodes[slot] = episode
        (earned.truncated[row] || earned.terminated[row]) && delete!(environment.episodes, slot)
        fail_if_due!(environment, earned, slot)
    end
end

function end_episode!(earned, episode, row)
    is_last = episode.steps == episode.length
    earned.truncated[row] = is_last && episode.times_out == 1
    earned.terminated[row] = is_last && episode.times_out == 0 || earned.success[row] && episode.is_judged == 1
end

function Reglue.env_get_state(environment::ConformanceEnvironment, slot)
    episode = on(environment, slot, "env_get_state")
    count!(environment, "get_state")
    return bytes_of("state", episode)
end

function Reglue.env_set_state!(environment::ConformanceEnvironment, slot, state)
    environment.episodes[slot] = value_of(Episode, "state", state)
    count!(environment, "set_state")
end

function Reglue.env_get_random_seed(environment::ConformanceEnvironment, slot)
    episode = on(environment, slot, "env_get_random_seed")
    count!(environment, "get_random_seed")
    return bytes_of("rng", episode.rng)
end

function Reglue.env_set_random_seed!(environment::ConformanceEnvironment, slot, seed)
    was = on(environment, slot, "env_set_random_seed")
    rng = value_of(UInt32, "rng", seed)
    environment.episodes[slot] = Episode(was.memory, rng, was.steps, was.length, was.times_out, was.is_judged)
    count!(environment, "set_random_seed")
end

function Reglue.env_standardize_randomness!(environment::ConformanceEnvironment, seed)
    count!(environment, "standardize_randomness")
    environment.standard = (seed, 0)
end

function Reglue.env_message(environment::ConformanceEnvironment, text::String)
    count!(environment, "message")
    first, lines = (split(text, "\n"; limit = 2)..., "")
    command, argument = (split(text, " "; limit = 2)..., "")
    first == "play" && (environment.spec = spec_of_text(lines))
    text == "fail" && error("told to fail")
    text == "counts" && return "{" * join(("\"$name\": $many" for (name, many) in environment.counts), ", ") * "}"
    command == "fail" && (environment.failing = parse(Int, argument) + 1)
    command == "sleep" && sleep(parse(Int, argument) / 1000)
    command == "echo" && return String(argument)
    return ""
end

function Reglue.env_cleanup!(environment::ConformanceEnvironment)
    count!(environment, "cleanup")
    empty!(environment.episodes)
end

count!(environment, routine, many = 1) = environment.counts[routine] += many

"The cell's seed and repeat; with standardized randomness, the n-th start's."
function numbered!(environment, cell)
    environment.standard === nothing && return cell.seed, cell.repeat
    seed, starts = environment.standard
    environment.standard = (seed, starts + 1)
    return seed, starts
end

"An episode before its first observation."
function episode_of(cell, seed, repeat)
    memory = take_bytes(START, Vector{UInt8}(codeunits(cell.task)))
    memory = take_bytes(memory, [UInt32(cell.variant)])
    memory = take(take(memory, UInt8(Int(cell.phase))), cell.steps)
    rng = take(take(START, seed), repeat)
    return Episode(memory, rng, 0, 2 + seed % 6, cell.variant % 2, cell.phase == EVALUATE)
end

on(environment, slot, routine) = get(environment.episodes, slot) do
    throw(RoutineRefused(:OUT_OF_ORDER, "$routine in slot $slot", "env_start! there first"))
end

"The episode after its memory took in the rng and showed a row, as step `steps`."
function moved(environment, was, memory, observations, row, steps)
    memory = take_bytes(memory, [was.rng])
    make_row!(values(observations), environment.spec.observations, memory, row)
    return Episode(memory, draw(was.rng, UInt32(1)), steps, was.length, was.times_out, was.is_judged)
end

function fail_if_due!(environment, filled, slot)
    environment.failing == slot || return nothing
    environment.failing = nothing
    delete!(environment.episodes, slot)
    fault!(filled, slot, "told to fail")
end

"A value's bytes behind a mark, and back."
bytes_of(mark, value) = vcat(Vector{UInt8}(codeunits(mark)), reinterpret(UInt8, [value]))

function value_of(::Type{T}, mark, bytes) where {T}
    head = length(mark)
    length(bytes) == head + sizeof(T) && bytes[1:head] == codeunits(mark) ||
        throw(RoutineRefused(:UNKNOWN_KEY, "$(length(bytes)) bytes", "a $mark that this environment made"))
    return only(reinterpret(T, bytes[head+1:end]))
end

Reglue.main(ConformanceEnvironment())
