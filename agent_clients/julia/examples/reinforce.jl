# REINFORCE with baseline: a neural network learns the probability of each action and the value of each state, one step
# an episode. Sutton & Barto 2018, "Reinforcement Learning: An Introduction", 2nd edition, the box on page 330
# (section 13.4), with steps by Adam (Kingma & Ba 2015, algorithm 1). All in plain Julia: Flux or Lux could take the
# place of the first half.
#
#     reglue bench online:gymnasium:CartPole-v1 --agent-cmd "julia --project=. examples/reinforce.jl" \
#         --runs 2 --episodes 300

using Reglue

"One layer of tanh, and a linear one. A constant 1 is the last input of both, so there are no biases apart."
struct Network
    hidden::Matrix{Float64}  # (units, inputs + 1)
    output::Matrix{Float64}  # (outputs, units + 1)
end

"A network of random weights, so small that each unit still tells inputs apart."
function Network(inputs, units, outputs, rng::Rng)
    weights(rows, columns) = [uniform!(rng, -1, 1) / sqrt(columns) for _ in 1:rows, _ in 1:columns]
    return Network(weights(units, inputs + 1), weights(outputs, units + 1))
end

Base.zero(network::Network) = Network(zero(network.hidden), zero(network.output))

"The hidden units' values, and the outputs."
function forward(network::Network, input)
    units = tanh.(network.hidden * [input; 1])
    return units, network.output * [units; 1]
end

"Adds to `gradient` that of `sum(outputs .* share)`, for the input whose `units` `forward` returned."
function backward!(gradient::Network, network::Network, input, units, share)
    gradient.output .+= share * [units; 1]'
    back = (network.output' * share)[1:end-1] .* (1 .- units .^ 2)  # through tanh
    gradient.hidden .+= back * [input; 1]'
end

"Fading means of the gradients so far, and of their squares."
mutable struct Adam
    mean::Network
    square::Network
    steps::Int
end

Adam(network::Network) = Adam(zero(network), zero(network), 0)

"Moves each weight up its gradient, by about `alpha`."
function climb!(network::Network, adam::Adam, gradient::Network, alpha)
    adam.steps += 1
    unbiased(mean, fade) = mean ./ (1 - fade^adam.steps)  # as both means begin at 0
    for layer in (:hidden, :output)
        weights, slope, mean, square = (getfield(each, layer) for each in (network, gradient, adam.mean, adam.square))
        mean .= 0.9 .* mean .+ 0.1 .* slope
        square .= 0.999 .* square .+ 0.001 .* slope .^ 2
        weights .+= alpha .* unbiased(mean, 0.9) ./ (sqrt.(unbiased(square, 0.999)) .+ 1e-8)
    end
end

struct Episode
    rng::Rng
    observations::Vector{Vector{Float64}}
    actions::Vector{Int}  # counted from 1
    rewards::Vector{Float64}
end

"""
One network for all slots: its outputs are the preference of each action, and the value of the state. `alpha` is the
step size, `gamma` how much a reward one step later counts.
"""
mutable struct Reinforce <: EpisodeAgent
    units::Int
    alpha::Float64
    gamma::Float64
    frozen::Bool
    first::Int  # the smallest action
    choices::Int
    network::Union{Network,Nothing}  # of random weights by the first episode's seed
    adam::Adam
    episodes::Dict{Int,Episode}  # by slot

    Reinforce(; units = 32, alpha = 0.01, gamma = 0.99) = new(units, alpha, gamma)
end

function Reglue.agent_init!(agent::Reinforce, spec::TaskSpec)
    length(spec.observations) == 1 || error("REINFORCE here needs one observation; this task has $(spec.observations)")
    action = only(spec.actions)
    action.domain isa Discrete || error("REINFORCE here needs one discrete action; this task has $action")
    agent.first, agent.choices, agent.frozen = action.domain.start, Int(action.domain.n), false
    agent.network, agent.episodes = nothing, Dict()
end

Reglue.agent_freeze!(agent::Reinforce) = agent.frozen = true

Reglue.new_episode(::Reinforce, seed) = Episode(Rng(seed), [], [], [])

function Reglue.episode_start!(episode::Episode, agent::Reinforce, action, observation)
    if agent.network === nothing
        agent.network = Network(length(observation), agent.units, agent.choices + 1, episode.rng)
        agent.adam = Adam(agent.network)
    end
    action[] = act!(agent, episode, observation)
end

function Reglue.episode_step!(episode::Episode, agent::Reinforce, action, reward, observation)
    push!(episode.rewards, reward)
    action[] = act!(agent, episode, observation)
end

function Reglue.episode_end!(episode::Episode, agent::Reinforce, reward, observation, kind)
    push!(episode.rewards, reward)
    kind == VOID || agent.frozen || learn!(agent, episode, kind == TRUNCATED ? value(agent, observation) : 0.0)
end

"Draws an action from the network's probabilities, and remembers both it and the observation."
function act!(agent::Reinforce, episode::Episode, observation)
    input = vec(Float64.(observation))
    _, outputs = forward(agent.network, input)
    action = draw(probabilities(agent, outputs), episode.rng)
    push!(episode.observations, input)
    push!(episode.actions, action)
    return agent.first + action - 1
end

"The softmax of the preferences."
function probabilities(agent::Reinforce, outputs)
    preferences = outputs[1:agent.choices]
    weights = exp.(preferences .- maximum(preferences))
    return weights ./ sum(weights)
end

function draw(probabilities, rng::Rng)
    place = findfirst(cumsum(probabilities) .> uniform!(rng))
    return place === nothing ? length(probabilities) : place  # they sum to 1 but for rounding
end

"The discounted sum of rewards to come, times `1 - gamma`: about as large as one reward."
value(agent::Reinforce, observation) = last(forward(agent.network, vec(Float64.(observation)))[2])

"Learns from a whole episode; `beyond` is the value of what could have come after it."
function learn!(agent::Reinforce, episode::Episode, beyond)
    gradient, gain = zero(agent.network), beyond
    for t in length(episode.rewards):-1:1
        gain = (1 - agent.gamma) * episode.rewards[t] + agent.gamma * gain
        input = episode.observations[t]
        units, outputs = forward(agent.network, input)
        surprise = gain - outputs[end]
        share = [-probabilities(agent, outputs); 1] .* surprise
        share[episode.actions[t]] += surprise
        backward!(gradient, agent.network, input, units, share)
    end
    climb!(agent.network, agent.adam, gradient, agent.alpha)
end

abspath(PROGRAM_FILE) == @__FILE__() && Reglue.main(Reinforce())
