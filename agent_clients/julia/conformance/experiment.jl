# The benchmark program for `reglue conformance experiment`. It reports what it saw with rl_agent_message, and the
# answer is its next instruction. proto/CONFORMANCE.md lists the instructions.

using Reglue

include("rule.jl")
include("spec_text.jl")

mutable struct Program
    rl::Experiment
    spec::Union{Nothing,TaskSpec}  # of the last init
end

function run(program::Program)
    saw = "nothing"
    while (instruction = rl_agent_message(program.rl, "did $saw")) != "leave"
        saw = attempt(program, instruction)
    end
end

function attempt(program::Program, instruction)
    try
        return something(carry_out(program, instruction), "")
    catch error
        error isa RoutineRefused && return "refused $(error.code) $(as_the_glue(error.message, Reglue.REFUSED_SLOTS))"
        error isa AgentFault && return "agent fault $(as_the_glue(error.message, Reglue.FAILED_SLOTS))"
        error isa EnvironmentFault && return "environment fault $(as_the_glue(error.message, Reglue.FAILED_SLOTS))"
        rethrow()
    end
end

"The message with slots counted from 0."
as_the_glue(message, pattern) = Reglue.shift_slots(message, pattern, -1)

"What was seen, in words, or nothing."
function carry_out(program::Program, instruction)
    rl, (routine, text) = program.rl, (split(instruction, " "; limit = 2)..., "")
    routine == "agent_message" && return rl_agent_message(rl, text)
    routine == "env_message" && return rl_env_message(rl, text)
    if routine in ("set_state", "set_random_seed")
        slot, key = split(text, " "; limit = 2)
        set! = routine == "set_state" ? rl_set_state! : rl_set_random_seed!
        return set!(rl, key, parse(Int, slot) + 1)
    end
    goal = (;)
    if routine in ("start", "episode", "env_start") && occursin(" of ", " $text")
        text, named = split(" $text", " of "; limit = 2)
        variant, task = (split(named, " "; limit = 2)..., "")
        goal = (; task = task, variant = parse(UInt32, variant))
    end
    return with_numbers(program, routine, parse.(UInt64, split(text)), goal)
end

function with_numbers(program::Program, routine, numbers, goal)
    rl = program.rl
    slots(from) = Int.(numbers[from:end]) .+ 1
    routine == "sleep" && return sleep(numbers[1] / 1000)
    routine == "init" && return begin!(program, numbers...)
    routine == "start" && return started_words(rl_start!(rl, slots(1); goal...))
    routine == "step" && return stepped_words(rl_step!(rl, slots(1)))
    routine == "episode" && return string(Int(rl_episode!(rl, numbers[1], slots(2); goal...)))
    routine == "trajectory" && return trajectory_words(rl_episode_trajectory!(rl, numbers[1], only(slots(2))))
    routine == "counts" && return join((count(rl, only(slots(1))) for count in (rl_return, rl_num_steps, rl_num_episodes)), " ")
    routine == "env_start" && return started_words(rl_env_start!(rl, slots(1); goal...))
    routine == "success" && return string(Int(rl_success(rl, only(slots(1)))))
    routine == "tasks" && return join(("$task $variants" for (task, variants) in rl_tasks(rl)), " ")
    routine == "iterate_goal" && return rl_iterate_goal!(rl, slots(1))
    routine == "adapt_begin" && return rl_adapt_begin!(rl)
    routine == "adapt" && return rl_adapt!(rl)
    routine == "get_state" && return rl_get_state(rl, only(slots(1)))
    routine == "get_random_seed" && return rl_get_random_seed(rl, only(slots(1)))
    routine == "standardize" && return rl_standardize_randomness!(rl, numbers[1])
    routine == "freeze" && return rl_freeze!(rl)
    routine == "cleanup" && return rl_cleanup!(rl)
    return half_step(program, routine, numbers, slots)
end

function begin!(program::Program, slots, seed)
    program.spec = rl_init!(program.rl; slots = slots, seed = seed)
    return spec_text(program.spec)
end

function half_step(program::Program, routine, numbers, slots)
    rl, spec = program.rl, program.spec
    memory, tensors = numbers[1] % UInt32, spec === nothing ? TensorSpec[] : spec.observations
    if routine == "env_step"
        tensors = spec === nothing ? TensorSpec[] : spec.actions
        return stepped_words(rl_env_step!(rl, made_rows(tensors, memory, slots(2))[1], slots(2)))
    end
    from = routine == "agent_end" ? 3 : 2
    rows, rewards = made_rows(tensors, memory, slots(from))
    routine == "agent_start" && return word(rl_agent_start!(rl, rows, slots(from)))
    routine == "agent_step" && return word(rl_agent_step!(rl, rewards, rows, slots(from)))
    routine == "agent_end" && return rl_agent_end!(rl, rewards, rows, slots(from); truncated = numbers[2] == 1)
    error("unknown instruction $routine")
end

"The rows that the rule makes of `memory` and each slot's number, and the rewards after them."
function made_rows(tensors, memory, slots)
    rows = Dict(spec.name => zeros(eltype(spec), size(spec)..., length(slots)) for spec in tensors)
    rewards = zeros(length(slots))
    for (row, slot) in enumerate(slots)
        slot_memory = memory + UInt32(slot - 1)
        make_row!([rows[spec.name] for spec in tensors], tensors, slot_memory, row)
        make_elements!(view(rewards, row:row), Box([], []), slot_memory, mapreduce(length, +, tensors; init = 0))
    end
    return rows, rewards
end

# Words.

started_words(it::Started) = join((slots_word(it.slots), word(it.observations), words(it.actions)...), " ")

function stepped_words(it::Stepped)
    flags = it.terminated .+ 0x02 .* it.truncated .+ 0x04 .* it.success
    return join(
        (slots_word(it.slots), word(it.rewards), word(it.observations), word(UInt8.(flags)), words(it.actions)...), " ",
    )
end

trajectory_words(it::Trajectory) = join(
    (word(it.observations), word(it.actions), word(it.rewards), word([it.terminated + 0x02 * it.truncated])), " ",
)

"Half steps of the environment have no actions."
words(actions::ChosenActions) = isempty(actions) ? () : (word(actions),)

word(memory::UInt32) = string(memory; base = 16, pad = 8)
word(elements::Vector) = word(take_bytes(START, elements))
word(tensors::AbstractDict) =
    word(foldl((memory, array) -> take_bytes(memory, vec(array)), values(tensors); init = START))

slots_word(slots) = word(UInt32.(slots .- 1))

Reglue.main(rl -> run(Program(rl, nothing)); name = "ConformanceExperiment")
