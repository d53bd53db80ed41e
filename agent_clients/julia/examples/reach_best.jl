# Finds a hidden goal from rewards alone, in the simplest way: while it adapts, the hand sweeps through the workspace;
# after that it returns to where the reward was highest. Made for Meta-World's ML1 on reach-v3. Python's reach_adapt
# sweeps alike, and computes the goal from the rewards on its way.
#
#     reglue bench ML1:reach-v3 --agent-cmd "julia --project=. examples/reach_best.jl"

using Reglue

# What the hand can reach, metres: SawyerXYZEnv._HAND_SPACE. The sweep goes round the corners of a box of half its size.
const LOW, HIGH = [-0.525, 0.348, -0.0525], [0.525, 1.025, 0.7]
const MIDDLE = (LOW + HIGH) / 2
const CORNERS = [[-1, -1, -1], [1, -1, -1], [1, 1, -1], [-1, 1, -1], [-1, 1, 1], [1, 1, 1], [1, -1, 1], [-1, -1, 1]]
const SWEEP = [MIDDLE + (HIGH - LOW) / 4 .* corner for corner in CORNERS]
const NEAR = 0.04  # metres from a corner at which it counts as reached
const GAIN = 10.0  # action per metre; an action of 1 moves the hand by a centimetre

"What one slot has learned, and which corner comes next."
mutable struct Search
    corner::Int
    best::Vector{Float64}
    reward::Float64
end

mutable struct ReachBest <: Agent
    exploring::Bool
    slots::Vector{Search}
end

ReachBest() = ReachBest(false, Search[])

Reglue.adapts(::ReachBest) = true

Reglue.agent_init!(agent::ReachBest, spec) = agent.slots = [Search(1, MIDDLE, -Inf) for _ in 1:spec.slots]

function Reglue.adapt_begin!(agent::ReachBest)
    agent.exploring = true
    foreach(slot -> agent.slots[slot] = Search(1, MIDDLE, -Inf), eachindex(agent.slots))
end

Reglue.agent_freeze!(agent::ReachBest) = agent.exploring = false

Reglue.agent_start!(agent::ReachBest, actions, observations, starts) = move!(agent, actions[], observations[], starts.slots)

function Reglue.agent_step!(agent::ReachBest, actions, rewards, observations, steps)
    remember!(agent, rewards, observations[], steps.slots)
    move!(agent, actions[], observations[], steps.slots)
end

Reglue.agent_end!(agent::ReachBest, rewards, observations, ends) = remember!(agent, rewards, observations[], ends.slots)

function remember!(agent, rewards, observations, slots)
    agent.exploring || return
    for (row, slot) in enumerate(slots)
        search = agent.slots[slot]
        if rewards[row] > search.reward
            search.best, search.reward = observations[1:3, row], rewards[row]
        end
    end
end

function move!(agent, actions, observations, slots)
    for (row, slot) in enumerate(slots)
        search, hand = agent.slots[slot], observations[1:3, row]
        if agent.exploring && sqrt(sum(abs2, SWEEP[search.corner] - hand)) < NEAR
            search.corner = mod1(search.corner + 1, length(SWEEP))
        end
        target = agent.exploring ? SWEEP[search.corner] : search.best
        actions[1:3, row] .= clamp.(GAIN .* (target - hand), -1, 1)
    end
end

abspath(PROGRAM_FILE) == @__FILE__() && Reglue.main(ReachBest())
