# The goals that an agent has seen, slot by slot.

"""
    Goals

The newest goal of each slot. Every part of a [`Turn`](@ref) has the session's, `starts.goals`: an agent may keep
it, for [`get_goal`](@ref) in routines without such an argument.
"""
struct Goals
    spec::TaskSpec
    newest::Vector{Pair{Int,Matrix}}  # place among the observations => rows of (elements, slots)
    seen::BitVector  # by slot
end

# For the task's goal tensors; nothing is seen yet.
function Goals(spec::TaskSpec)
    places = findall(tensor -> is_goal(tensor.name), spec.observations)
    newest = Pair{Int,Matrix}[place => unseen(spec.observations[place], spec.slots) for place in places]
    return Goals(spec, newest, falses(spec.slots))
end

"""
    get_goal(part, slot) -> Dict{String,Array}

The newest goal that was seen in `slot`, by the names of its tensors: copies, each of `size(spec)`. `part` is what
[`agent_start!`](@ref), [`agent_step!`](@ref) or [`agent_end!`](@ref) takes last, a [`Turn`](@ref), or
a stored [`Goals`](@ref). Where a slot ends and starts in one turn, its goal is the start's.

Tensors of goals are called `desired_goal`, or end so, as `state_desired_goal`. Throws UsageError where the task shows
none, where nothing was seen in that slot yet, and for a slot that there is not.
"""
function get_goal(goals::Goals, slot::Integer)
    check_goal(goals, slot)
    tensors = goals.spec.observations
    return Dict{String,Array}(
        tensors[place].name => reshape(rows[:, slot], size(tensors[place])) for (place, rows) in goals.newest
    )
end

"Copy the turn's rows; if a slot ends and starts, those of its start."
function see!(goals::Goals, turn)
    for (place, newest) in goals.newest, part in (turn.ends, turn.steps, turn.starts)
        rows = array(observations(turn, part), place)
        newest[:, part.slots] = reshape(rows, size(newest, 1), length(part))
        goals.seen[part.slots] .= true
    end
    return nothing
end

function check_goal(goals::Goals, slot)
    isempty(goals.newest) && throw(no_goal(goals.spec))
    1 <= slot <= goals.spec.slots || throw(UsageError("got slot $slot, wanted 1 to $(goals.spec.slots)"))
    goals.seen[slot] || throw(UsageError("nothing was seen in slot $slot yet; wait for its agent_start!"))
    return nothing
end

function no_goal(spec::TaskSpec)
    names = join((tensor.name for tensor in spec.observations), ", ")
    return UsageError("got a task that shows $names, wanted a tensor called desired_goal")
end

"The parts of a goal follow a slash."
is_goal(name) = any(part -> endswith(part, "desired_goal"), split(name, '/'))

unseen(spec::TensorSpec{T}, slots) where {T} = zeros(T, length(spec), slots)
