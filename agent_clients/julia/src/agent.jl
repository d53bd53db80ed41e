# The agent's side of RL-Glue, over slots.

"""
Derive from it, and write [`agent_start!`](@ref) and [`agent_step!`](@ref), or [`turn!`](@ref):

```julia
using Reglue

struct Still <: Agent end

Reglue.agent_start!(::Still, actions, observations, starts) = nothing  # actions are zeros
Reglue.agent_step!(::Still, actions, rewards, observations, steps) = nothing

Reglue.connect(Still(); address = "127.0.0.1:4096", token = "SECRET")
```
"""
abstract type Agent end

# What an agent can do.

"Most slots that the agent plays at once; 0 means any number."
max_slots(::Agent) = 0

"True if a turn may leave live slots out."
partial_turns(::Agent) = false

"True if the agent can be taken through [`adapt_begin!`](@ref) and [`adapt!`](@ref)."
adapts(::Agent) = true

"False if it cannot take an episode's end: then it plays continuing tasks alone."
episodic(::Agent) = true

# RL-Glue's routines, in the order in which they are called.

"Become naive again: everything learned before is forgotten."
agent_init!(::Agent, spec::TaskSpec) = nothing

"""
    agent_start!(agent, actions, observations, starts)

Write the first action of each episode that begins, `starts.slots`; column i of an array is of
`starts.slots[i]`.
"""
function agent_start! end

"""
    agent_step!(agent, actions, rewards, observations, steps)

Write the next action of each episode that goes on, `steps.slots`.
"""
function agent_step! end

"""
    agent_end!(agent, rewards, observations, ends)

Take the last reward and observation of each episode that ended.
"""
agent_end!(::Agent, rewards, observations, ends) = nothing

"Stop learning and exploring: what follows is judged."
agent_freeze!(::Agent) = nothing

"Answer a message of the benchmark's, by a text."
agent_message(::Agent, text::String) = ""

"Release what [`agent_init!`](@ref) took."
agent_cleanup!(::Agent) = nothing

"Return to the meta-trained state; a new wave of trials begins."
adapt_begin!(::Agent) = nothing

"Learn from the episodes since [`adapt_begin!`](@ref) or the last `adapt!`."
adapt!(::Agent) = nothing

"Take note of what time remains; called before the routine that it is for."
agent_budget!(::Agent, budget::Budget) = nothing

"Answer a whole turn, the primitive: its ends, steps and starts, each if there are any."
function turn!(agent::Agent, turn::Turn)
    ended = length(turn.ends)
    if ended > 0
        agent_end!(agent, turn.rewards[1:ended], observations(turn, turn.ends), turn.ends)
    end
    if length(turn.steps) > 0
        rewards = turn.rewards[ended+1:end]
        agent_step!(agent, actions(turn, turn.steps), rewards, observations(turn, turn.steps), turn.steps)
    end
    if length(turn.starts) > 0
        agent_start!(agent, actions(turn, turn.starts), observations(turn, turn.starts), turn.starts)
    end
    return nothing
end
