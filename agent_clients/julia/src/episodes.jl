# An agent that is written for one episode: slots are handled here.

"""
An agent whose author writes what one episode does: a struct of what an episode remembers, and for it
[`new_episode`](@ref), [`episode_start!`](@ref), [`episode_step!`](@ref) and, if it learns, [`episode_end!`](@ref).

Derive from it with a field `episodes`, an empty `Dict{Int,E}` of the author's type of episodes, by slot. The other
fields are what all episodes share, such as what the agent learned.

```julia
struct Pump end  # remembers nothing

struct Pumps <: EpisodeAgent
    episodes::Dict{Int,Pump}
end

Reglue.new_episode(::Pumps, seed) = Pump()
Reglue.episode_start!(::Pump, ::Pumps, action, observation) = action[] = observation[2] < 0 ? 0 : 2
Reglue.episode_step!(::Pump, ::Pumps, action, reward, observation) = action[] = observation[2] < 0 ? 0 : 2

Reglue.connect(Pumps(Dict()))
```

Observations and actions are views of one row, arrays of `size(spec)`, or dicts of such by name if the task has several.
They last until the routine that was given them returns.
"""
abstract type EpisodeAgent <: Agent end

"""
    new_episode(agent, seed::UInt64)

What plays the episode that begins; `seed` is of its own random numbers.
"""
function new_episode end

"""
    episode_start!(episode, agent, action, observation)

Write the first action: `action[] = …`, or `action .= …`; zeros until written.
"""
function episode_start! end

"""
    episode_step!(episode, agent, action, reward::Float64, observation)

Write the next action. `reward` is of the one before; NaN where it is withheld.
"""
function episode_step! end

"""
    episode_end!(episode, agent, reward::Float64, observation, kind::EndKind)

Take the last reward and observation, and how the episode ended. Not called for an episode that was abandoned.
"""
episode_end!(episode, ::EpisodeAgent, reward, observation, kind) = nothing

function agent_start!(agent::EpisodeAgent, actions, observations, starts)
    for (i, slot) in enumerate(starts.slots)
        episode = agent.episodes[slot] = new_episode(agent, starts.seeds[i])
        episode_start!(episode, agent, row(actions, i), row(observations, i))
    end
end

function agent_step!(agent::EpisodeAgent, actions, rewards, observations, steps)
    for (i, slot) in enumerate(steps.slots)
        episode_step!(agent.episodes[slot], agent, row(actions, i), rewards[i], row(observations, i))
    end
end

function agent_end!(agent::EpisodeAgent, rewards, observations, ends)
    for (i, slot) in enumerate(ends.slots)
        episode_end!(pop!(agent.episodes, slot), agent, rewards[i], row(observations, i), ends.kinds[i])
    end
end

"Row i of the only tensor, or of each by name."
function row(tensors, i)
    length(tensors) == 1 && return selectdim(tensors[], ndims(tensors[]), i)
    return Dict(name => selectdim(array, ndims(array), i) for (name, array) in tensors)
end
