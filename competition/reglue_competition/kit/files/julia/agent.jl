# Acts at random: the floor that every agent should beat. Each episode draws from its start seed alone, so
# that its actions are the same in whatever slot or process it is played.
#
#     reglue bench MT1:reach-v3 --agent-cmd "julia --project=. examples/random.jl"

using Reglue

struct RandomAgent <: Agent
    specs::Vector{TensorSpec}  # of actions
    rngs::Dict{Int,Rng}  # by slot
end

RandomAgent() = RandomAgent(TensorSpec[], Dict{Int,Rng}())

Reglue.agent_init!(agent::RandomAgent, spec::TaskSpec) = copy!(agent.specs, spec.actions)

function Reglue.agent_start!(agent::RandomAgent, actions, observations, starts)
    for (row, slot) in enumerate(starts.slots)
        agent.rngs[slot] = Rng(starts.seeds[row])
    end
    act!(agent, actions, starts.slots)
end

Reglue.agent_step!(agent::RandomAgent, actions, rewards, observations, steps) =
    act!(agent, actions, steps.slots)

function act!(agent, actions, slots)
    for (row, slot) in enumerate(slots), spec in agent.specs
        numbers = reshape(actions[spec.name], length(spec), :)  # (elements, rows), the same memory
        for element in axes(numbers, 1)
            numbers[element, row] = draw(spec.domain, element, agent.rngs[slot])
        end
    end
end

draw(domain::Discrete, element, rng) = domain.start + Int(below!(rng, domain.n))
draw(domain::MultiDiscrete, element, rng) = below!(rng, domain.n[element])
draw(domain::MultiBinary, element, rng) = below!(rng, 2)
draw(box::Box, element, rng) =
    uniform!(rng, max(bound(box.low, element, -1), -1), min(bound(box.high, element, 1), 1))

"A bound of an element; without one, `none`."
bound(values, element, none) = isempty(values) ? none : values[length(values) == 1 ? 1 : element]

abspath(PROGRAM_FILE) == @__FILE__() && println(stderr, Reglue.connect(RandomAgent()))
