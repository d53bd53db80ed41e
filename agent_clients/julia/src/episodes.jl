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

Observations and actions are views of one row, arrays of `size(spec)`; [`Observations`](@ref) and [`Actions`](@ref) of
such if the task has several tensors.
"""
abstract type EpisodeAgent <: Agent end

"""
    new_episode(agent, seed::UInt64)

What plays the episode that begins; `seed` is for its random numbers.
"""
function new_episode end

"""
    episode_start!(episode, agent, action, observation)

Write the first action: `action[] = …`, a number or an array of `size(spec)`, or `action .= …`; zeros at first.

`action = …` writes nothing. A routine that never looks at its `action` fails with a UsageError; who wants zeros writes
`action .= 0`.
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
episode_end!(episode, agent, reward, observation, kind) = nothing

function agent_start!(agent::EpisodeAgent, actions, observations, starts)
    for (i, slot) in enumerate(starts.slots)
        episode, action = new_episode(agent, starts.seeds[i]), row(actions, i)
        agent.episodes[slot] = episode
        episode_start!(episode, agent, action, row(observations, i))
        check_used(action, "episode_start!")
    end
end

function agent_step!(agent::EpisodeAgent, actions, rewards, observations, steps)
    for (i, slot) in enumerate(steps.slots)
        action = row(actions, i)
        episode_step!(agent.episodes[slot], agent, action, rewards[i], row(observations, i))
        check_used(action, "episode_step!")
    end
end

function agent_end!(agent::EpisodeAgent, rewards, observations, ends)
    for (i, slot) in enumerate(ends.slots)
        episode_end!(pop!(agent.episodes, slot), agent, rewards[i], row(observations, i), ends.kinds[i])
    end
end

"One slot's row of a task's only action: an array to write into, which knows whether it was looked at."
mutable struct ActionRow{T,N,A<:AbstractArray{T,N}} <: AbstractArray{T,N}
    array::A
    name::String
    is_used::Bool
end

used(row::ActionRow) = (row.is_used = true; row)

Base.size(row::ActionRow) = size(row.array)
Base.IndexStyle(::Type{ActionRow{T,N,A}}) where {T,N,A} = IndexStyle(A)
Base.getindex(row::ActionRow, places::Int...) = used(row).array[places...]
Base.setindex!(row::ActionRow, value, places::Int...) = used(row).array[places...] = element(row, value)

# `action[] = …` is all of it; `action .= …` broadcasts.
function Base.setindex!(row::ActionRow, values)
    got = size(values)
    got == size(row) || prod(got) == length(row) == 1 || throw(wrong_size(row, got))
    return write!(used(row), values)
end

Base.Broadcast.materialize!(to::ActionRow, values) = write!(used(to), values)
Base.Broadcast.materialize!(to::ActionRow, values::Base.Broadcast.Broadcasted) = write!(used(to), values)

wrong_size(row::ActionRow, got) =
    UsageError("got values of size $got for \"$(row.name)\", wanted $(described(row.array))")

check_used(row::ActionRow, routine) = row.is_used || throw(UsageError(
    "got no action from $routine, wanted \"$(row.name)\" of `action` written, $(described(row.array)), as in " *
    "action[] = …; `action = …` writes nothing",
))

# Row i of the only tensor, or of each by name.

row(seen::Observations{<:Tuple{Any}}, i) = last_axis(seen[], i)
row(seen::Observations, i) = Observations(seen.names, map(array -> last_axis(array, i), seen.arrays))
row(actions::Actions{<:Tuple{Any}}, i) = ActionRow(last_axis(actions[], i), only(actions.names), false)

function row(actions::Actions, i)
    actions.are_used = true  # that of each episode is checked
    return Actions(actions.names, map(array -> last_axis(array, i), actions.arrays), actions.abandoned)
end

last_axis(array, i) = selectdim(array, ndims(array), i)
