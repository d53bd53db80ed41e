# The agent for `reglue conformance agent`: it makes every action from everything that its slot received.
# proto/CONFORMANCE.md describes it.

using Reglue

include("rule.jl")
include("spec_text.jl")

mutable struct ConformanceAgent <: Agent
    counts::Dict{String,Int}
    memory::Vector{UInt32}  # of each slot
    abandon::Union{Nothing,Int}  # a slot, in the next turn
    must_fail::Bool  # in the next turn
    budget::Budget
    spec::TaskSpec

    function ConformanceAgent()
        names = split("init start step end freeze adapt_begin adapt message cleanup")
        return new(Dict(name => 0 for name in names), UInt32[], nothing, false)
    end
end

struct ToldToFail <: Exception end

Base.showerror(io::IO, ::ToldToFail) = print(io, "told to fail")

Reglue.partial_turns(::ConformanceAgent) = true

Reglue.agent_budget!(agent::ConformanceAgent, budget::Budget) = agent.budget = budget

function Reglue.agent_init!(agent::ConformanceAgent, spec::TaskSpec)
    count!(agent, "init")
    agent.spec = spec
    agent.memory = fill(START, spec.slots)
end

function Reglue.agent_start!(agent::ConformanceAgent, actions, observations, starts)
    count!(agent, "start", length(starts))
    for (row, slot) in enumerate(starts.slots)
        memory = take(marked(agent.memory[slot], 0x03, starts.phase), starts.seeds[row])
        agent.memory[slot] = take_row(memory, observations, row)
        make_row!(values(actions), agent.spec.actions, agent.memory[slot], row)
    end
end

function Reglue.agent_step!(agent::ConformanceAgent, actions, rewards, observations, steps)
    count!(agent, "step", length(steps))
    for (row, slot) in enumerate(steps.slots)
        memory = take(marked(agent.memory[slot], 0x02, steps.phase), steps.flags[row] & (DEFAULTED | CLIPPED))
        memory = take_reward(agent, memory, rewards[row], steps.phase)
        agent.memory[slot] = take_row(memory, observations, row)
        make_row!(values(actions), agent.spec.actions, agent.memory[slot], row)
    end
end

function Reglue.agent_end!(agent::ConformanceAgent, rewards, observations, ends)
    count!(agent, "end", length(ends))
    for (row, slot) in enumerate(ends.slots)
        memory = take(marked(agent.memory[slot], 0x01, ends.phase), UInt8(ends.kinds[row]))
        memory = take_reward(agent, memory, rewards[row], ends.phase)
        agent.memory[slot] = take_row(memory, observations, row)
    end
end

Reglue.agent_freeze!(agent::ConformanceAgent) = take_all!(agent, "freeze", 0x04)
Reglue.adapt_begin!(agent::ConformanceAgent) = take_all!(agent, "adapt_begin", 0x05)
Reglue.adapt!(agent::ConformanceAgent) = take_all!(agent, "adapt", 0x06)
Reglue.agent_cleanup!(agent::ConformanceAgent) = count!(agent, "cleanup")

function Reglue.turn!(agent::ConformanceAgent, turn::Turn)
    agent.must_fail && throw(ToldToFail())
    invoke(turn!, Tuple{Agent,Turn}, agent, turn)
    agent.abandon === nothing || abandon!(turn, agent.abandon)
    agent.abandon = nothing
end

function Reglue.agent_message(agent::ConformanceAgent, text::String)
    count!(agent, "message")
    text == "fail" && throw(ToldToFail())
    text == "fail turn" && (agent.must_fail = true)
    text == "counts" && return "{" * join(("\"$name\": $many" for (name, many) in agent.counts), ", ") * "}"
    text == "budget" && return join((something(left, "-") |> string for left in limits(agent.budget)), " ")
    text == "spec" && return spec_text(agent.spec)
    command, argument = (split(text, " "; limit = 2)..., "")
    command == "echo" && return String(argument)
    command == "sleep" && sleep(parse(Int, argument) / 1000)
    command == "abandon" && (agent.abandon = parse(Int, argument) + 1)
    return ""
end

count!(agent, routine, many = 1) = agent.counts[routine] += many

function take_all!(agent, routine, mark)
    count!(agent, routine)
    agent.memory .= take.(agent.memory, mark)
end

marked(memory, mark, phase) = take(take(memory, mark), UInt8(phase))

take_row(memory, observations, row) =
    foldl((taken, array) -> take(taken, array, row), values(observations); init = memory)

"Rewards that are withheld have no bytes."
function take_reward(agent, memory, reward, phase)
    phase == EVALUATE && !agent.spec.rewards_in_evaluation && return memory
    return take(memory, reward)
end

limits(budget) = (budget.step_us, budget.bank_us, budget.adapt_us, budget.run_us)

Reglue.main(ConformanceAgent())
