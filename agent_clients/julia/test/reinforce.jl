# The example that learns by a neural network. That it learns, tests/agent_clients/test_julia.py shows.
module Example
include("../examples/reinforce.jl")
end

@testset "a network's gradient is that of finite differences" begin
    rng = Rng(7)
    network, input, share = Example.Network(3, 5, 2, rng), [uniform!(rng, -1, 1) for _ in 1:3], [0.3, -1.7]
    outputs() = Example.forward(network, input)[2]
    gradient = zero(network)
    Example.backward!(gradient, network, input, Example.forward(network, input)[1], share)
    for layer in (:hidden, :output), place in eachindex(getfield(network, layer))
        weights, width = getfield(network, layer), 1e-6
        weight = weights[place]
        weights[place] = weight + width
        above = sum(outputs() .* share)
        weights[place] = weight - width
        below = sum(outputs() .* share)
        weights[place] = weight
        @test getfield(gradient, layer)[place] ≈ (above - below) / 2width atol = 1e-8
    end
end

"Whether an episode of two steps, which ended so, changed the network."
function teaches(kind; frozen = false)
    agent = Example.Reinforce()
    see(name, domain) = TensorSpec{Float64,0}(name, (), domain)
    Reglue.agent_init!(agent, TaskSpec([see("seen", Box([], []))], [see("done", Discrete(2, 0))], (0.0, 1.0), 1.0, 0, false, true, 1, ""))
    frozen && Reglue.agent_freeze!(agent)
    episode, action = Reglue.new_episode(agent, 7), zeros(1)
    Reglue.episode_start!(episode, agent, action, [0.5])
    before = deepcopy(agent.network)
    Reglue.episode_step!(episode, agent, action, 1.0, [0.6])
    Reglue.episode_end!(episode, agent, 1.0, [0.7], kind)
    return agent.network.hidden != before.hidden && agent.network.output != before.output
end

@testset "it learns from episodes that count, until it is frozen" begin
    @test teaches(TERMINATED)
    @test teaches(TRUNCATED)
    @test !teaches(VOID)
    @test !teaches(TERMINATED; frozen = true)
end
