# Sarsa(λ) with tile coding: learns the values of actions while it acts on them. Sutton & Barto 2018,
# "Reinforcement Learning: An Introduction", 2nd edition, the box on page 305 (section 12.7), with binary
# features and replacing traces.
#
#     reglue bench online:mountain-car --agent wait --listen 127.0.0.1:4096 --token SECRET
#     REGLUE_ADDRESS=127.0.0.1:4096 REGLUE_TOKEN=SECRET julia --project=. examples/sarsa.jl

using Reglue

include("tiles.jl")

mutable struct Episode
    rng::Rng
    active::Vector{Int}  # features of the present state
    next::Vector{Int}  # and of the one after it
    action::Int
    traces::Matrix{Float64}  # (features, actions): how much each is to blame
    traced::Vector{CartesianIndex{2}}  # where a trace is not 0
end

"""
One linear value function for all slots; every slot's steps teach it. `alpha` is the step size of a whole
state: each of its active features takes an equal part. `epsilon` is the probability of exploring.
"""
mutable struct Sarsa <: EpisodeAgent
    alpha::Float64
    lambda::Float64
    epsilon::Float64
    frozen::Bool
    discount::Float64
    first::Int  # the smallest action
    tilings::Tilings
    weights::Matrix{Float64}  # (features, actions)
    episodes::Dict{Int,Episode}  # by slot

    Sarsa(; alpha = 0.5, lambda = 0.9, epsilon = 0.1) = new(alpha, lambda, epsilon)
end

const FAINTEST = 0.01  # a trace below it is forgotten: it would cost more than it teaches

function Reglue.agent_init!(agent::Sarsa, spec::TaskSpec)
    state, action = only(spec.observations), only(spec.actions)
    box, choices = state.domain, action.domain
    box isa Box && length(box.low) == length(box.high) == length(state) ||
        error("Sarsa needs an observation with bounds; this task has $state")
    choices isa Discrete || error("Sarsa needs one discrete action; this task has $action")
    agent.tilings = Tilings(box.low, box.high)
    agent.weights = zeros(length(agent.tilings), Int(choices.n))
    agent.first, agent.discount, agent.frozen = choices.start, spec.discount, false
    agent.episodes = Dict()
end

Reglue.agent_freeze!(agent::Sarsa) = agent.frozen = true

function Reglue.new_episode(agent::Sarsa, seed)
    none = zeros(Int, agent.tilings.count)
    return Episode(Rng(seed), none, copy(none), 1, zero(agent.weights), CartesianIndex{2}[])
end

function Reglue.episode_start!(episode::Episode, agent::Sarsa, action, observation)
    active!(episode.active, agent.tilings, observation)
    episode.action = choose(agent, episode.active, episode.rng)
    action[] = agent.first + episode.action - 1
end

function Reglue.episode_step!(episode::Episode, agent::Sarsa, action, reward, observation)
    go_on!(agent, episode, reward, observation)
    action[] = agent.first + episode.action - 1
end

function Reglue.episode_end!(episode::Episode, agent::Sarsa, reward, observation, kind)
    if kind == TRUNCATED  # learn from what could have come
        go_on!(agent, episode, reward, observation)
    elseif kind == TERMINATED && !agent.frozen
        learn!(agent, episode, reward)
    end
end

function go_on!(agent::Sarsa, episode::Episode, reward, numbers)
    active!(episode.next, agent.tilings, numbers)
    action = choose(agent, episode.next, episode.rng)
    if !agent.frozen
        learn!(agent, episode, reward + agent.discount * value(agent, episode.next, action))
    end
    episode.active, episode.next = episode.next, episode.active
    episode.action = action
end

value(agent::Sarsa, active, action) = foldl(+, (agent.weights[feature, action] for feature in active); init = 0.0)

"The place of a highest value, each as likely; with probability `epsilon` any place (section 2.2)."
function choose(agent::Sarsa, active, rng::Rng)
    many = size(agent.weights, 2)
    if !agent.frozen && agent.epsilon > 0 && uniform!(rng) < agent.epsilon
        return Int(below!(rng, many)) + 1
    end
    values = [value(agent, active, action) for action in 1:many]
    best = findall(isequal(maximum(values)), values)
    return length(best) == 1 ? best[1] : best[Int(below!(rng, length(best)))+1]
end

"Move the value of the last action, and of those before it, towards `target`."
function learn!(agent::Sarsa, episode::Episode, target)
    error = target - value(agent, episode.active, episode.action)
    for feature in episode.active
        place = CartesianIndex(feature, episode.action)
        episode.traces[place] == 0 && push!(episode.traced, place)
        episode.traces[place] = 1.0
    end
    step, fade = agent.alpha / agent.tilings.count * error, agent.lambda * agent.discount
    for place in episode.traced
        agent.weights[place] += step * episode.traces[place]
        episode.traces[place] *= fade
        episode.traces[place] < FAINTEST && (episode.traces[place] = 0.0)
    end
    filter!(place -> episode.traces[place] > 0, episode.traced)
end

abspath(PROGRAM_FILE) == @__FILE__() && Reglue.main(Sarsa())
