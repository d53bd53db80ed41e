# Acts at random: the floor that every agent should beat. Each episode draws from its start seed alone, so
# that its actions are the same in whatever slot or process it is played.
#
#     reglue bench MT1:reach-v3 --agent-cmd "julia --project=. PROGRAM"

using Reglue

struct RandomAgent <: EpisodeAgent
    specs::Vector{TensorSpec}  # of actions
    episodes::Dict{Int,Rng}  # an episode remembers its generator
end

RandomAgent() = RandomAgent(TensorSpec[], Dict{Int,Rng}())

Reglue.adapts(::RandomAgent) = true  # it learns nothing, but meta-learning benchmarks may judge it

Reglue.agent_init!(agent::RandomAgent, spec::TaskSpec) = copy!(agent.specs, spec.actions)

Reglue.new_episode(::RandomAgent, seed) = Rng(seed)

Reglue.episode_start!(rng::Rng, agent::RandomAgent, action, observation) = act!(agent, action, rng)

Reglue.episode_step!(rng::Rng, agent::RandomAgent, action, reward, observation) = act!(agent, action, rng)

function act!(agent, action, rng)
    for spec in agent.specs
        numbers = length(agent.specs) == 1 ? action : action[spec.name]
        for element in 1:length(spec)
            numbers[element] = draw(spec.domain, element, rng)
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
