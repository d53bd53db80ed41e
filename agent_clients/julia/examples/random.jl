# Acts at random: the floor that every agent should beat. Each episode draws from its start seed alone, so
# that its actions are the same in whatever slot or process it is played.
#
#     reglue bench MT1:reach-v3 --agent-cmd "julia --project=. PROGRAM"
#
# Where an observation `action_mask` shows which actions are legal, it draws one of those.

using Reglue

const MASK = "action_mask"

mutable struct RandomAgent <: EpisodeAgent
    task::TaskSpec
    episodes::Dict{Int,Rng}  # an episode remembers its generator
end

RandomAgent() = RandomAgent(TaskSpec([], []), Dict{Int,Rng}())

Reglue.adapts(::RandomAgent) = true  # it learns nothing, but meta-learning benchmarks may judge it

Reglue.agent_init!(agent::RandomAgent, spec::TaskSpec) = agent.task = spec

Reglue.new_episode(::RandomAgent, seed) = Rng(seed)

Reglue.episode_start!(rng::Rng, agent::RandomAgent, action, observation) = act!(agent, action, observation, rng)

Reglue.episode_step!(rng::Rng, agent::RandomAgent, action, reward, observation) =
    act!(agent, action, observation, rng)

function act!(agent, action, observation, rng)
    legal = shown_mask(agent.task, observation)
    specs = agent.task.actions
    for spec in specs
        numbers = length(specs) == 1 ? action : action[spec.name]
        for element in 1:length(spec)
            numbers[element] = draw(spec.domain, element, rng, legal)
        end
    end
end

"Whether each choice of the only action is legal; empty if there is no mask."
function shown_mask(task, observation)
    is_masked = length(task.actions) == 1 && any(is_mask_of(task.actions[1]), task.observations)
    is_masked || return Bool[]
    return Vector{Bool}((observation isa Observations ? observation[MASK] : observation) .!= 0)
end

is_mask_of(action) =
    spec -> spec.name == MASK && eltype(spec) in (Bool, Int8, UInt8) && size(spec) == (choices(action, action.domain),)

choices(action, domain::Discrete) = length(action) == 1 ? domain.n : 0
choices(action, domain::MultiDiscrete) = sum(domain.n)
choices(action, domain) = 0

draw(domain::Discrete, element, rng, legal) = domain.start + Int(legal_below!(rng, domain.n, legal))
draw(domain::MultiDiscrete, element, rng, legal) = legal_below!(rng, domain.n[element], legal)
draw(domain::MultiBinary, element, rng, legal) = below!(rng, 2)
draw(box::Box, element, rng, legal) =
    uniform!(rng, max(bound(box.low, element, -1), -1), min(bound(box.high, element, 1), 1))

"A bound of an element; without one, `none`."
bound(values, element, none) = isempty(values) ? none : values[length(values) == 1 ? 1 : element]

"A number below `n`; with a mask, one of its next `n` choices that are legal. They are taken off `legal`."
function legal_below!(rng, n, legal)
    isempty(legal) && return below!(rng, n)
    places = findall(splice!(legal, 1:Int(n)))
    return isempty(places) ? below!(rng, n) : places[below!(rng, length(places)) + 1] - 1
end

abspath(PROGRAM_FILE) == @__FILE__() && println(stderr, Reglue.connect(RandomAgent()))
