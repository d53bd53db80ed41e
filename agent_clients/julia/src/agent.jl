# The agent's side of RL-Glue, over slots.

"""
Derive from it, and write [`agent_start!`](@ref) and [`agent_step!`](@ref), or [`turn!`](@ref):

```julia
using Reglue

struct Still <: Agent end

Reglue.agent_start!(::Still, actions, observations, starts) = actions[] .= 0
Reglue.agent_step!(::Still, actions, rewards, observations, steps) = actions[] .= 0

Reglue.main(Still(); address = "127.0.0.1:4096", token = "SECRET")
```
"""
abstract type Agent end

# What an agent can do.

"""
    max_slots(agent) -> Integer

Most slots that the agent plays at once; 0, the default, means any number.
"""
max_slots(::Agent) = 0

"""
    partial_turns(agent) -> Bool

True if a turn may leave live slots out; false by default.
"""
partial_turns(::Agent) = false

"""
    adapts(agent) -> Bool

True if the agent answers [`adapt_begin!`](@ref) and [`adapt!`](@ref); by default, if there is a method for either.
Add a method for an agent that learns as it plays, or for a baseline that is judged as it is.
"""
adapts(::T) where {T<:Agent} =
    any(routine -> which(routine, Tuple{T}) != which(routine, Tuple{Agent}), (adapt_begin!, adapt!))

"""
    episodic(agent) -> Bool

False if the agent cannot handle an episode's end: then it plays only continuing tasks. True by default.
"""
episodic(::Agent) = true

"""
    zero_copy(agent) -> Bool
    zero_copy(environment) -> Bool

True if its routines get the library's own memory instead of copies, which saves time if arrays are large. Such an array is
valid until the routine returns: `copy` what you keep. To read it later gives wrong numbers, and to write it may crash
Julia. False by default: arrays are then copies, and yours to keep.
"""
zero_copy(::Agent) = false

# RL-Glue's routines, in the order in which they are called.

"""
    agent_init!(agent, spec::TaskSpec)

Forget everything learned before.
"""
agent_init!(::Agent, spec) = nothing

"""
    agent_start!(agent, actions::Actions, observations::Observations, starts::Starts)

Write the first action of each episode that begins, `starts.slots`, into `actions[]` (or `actions[name]`): an array of
`(size(spec)..., rows)`, zeros at first, whose last axis is that of `starts.slots`, as in `observations[]`.

`actions = …` writes nothing. A routine that neither looks at its `actions` nor abandons an episode fails with a
UsageError; who wants zeros writes `actions[] .= 0`.
"""
function agent_start! end

"""
    agent_step!(agent, actions::Actions, rewards::Vector{Float64}, observations::Observations, steps::Steps)

Write the next action of each episode that continues, `steps.slots`, as in [`agent_start!`](@ref). `rewards` are of the
actions before, one a slot, in the task's units; NaN where they are withheld.
"""
function agent_step! end

"""
    agent_end!(agent, rewards::Vector{Float64}, observations::Observations, ends::Ends)

Take the last reward and observation of each episode that ended, `ends.slots`.
"""
agent_end!(::Agent, rewards, observations, ends) = nothing

"""
    agent_freeze!(agent)

Stop learning and exploring: what follows is judged.
"""
agent_freeze!(::Agent) = nothing

"""
    agent_message(agent, text::String) -> String

Answer a message from the benchmark; `""` without a method for it.
"""
agent_message(::Agent, text) = ""

"""
    agent_cleanup!(agent)

Release what [`agent_init!`](@ref) took.
"""
agent_cleanup!(::Agent) = nothing

"""
    adapt_begin!(agent)

Return to the meta-trained state; a new wave of trials begins.
"""
adapt_begin!(::Agent) = nothing

"""
    adapt!(agent)

Learn from the episodes since [`adapt_begin!`](@ref) or the last `adapt!`.
"""
adapt!(::Agent) = nothing

"""
    agent_budget!(agent, budget::Budget)

Take note of what time remains; called before the routine that it is for.
"""
agent_budget!(::Agent, budget) = nothing

"""
    turn!(agent, turn::Turn)

Answer a whole turn, the primitive: [`agent_end!`](@ref), [`agent_step!`](@ref) and [`agent_start!`](@ref), each
if there are rows for it.
"""
function turn!(@nospecialize(agent::Agent), turn)
    ended = length(turn.ends)
    if ended > 0
        agent_end!(agent, turn.rewards[1:ended], observations(turn, turn.ends), turn.ends)
    end
    if length(turn.steps) > 0
        rewards, answer = turn.rewards[ended+1:end], actions(turn, turn.steps)
        agent_step!(agent, answer, rewards, observations(turn, turn.steps), turn.steps)
        check_used(answer, "agent_step!")
    end
    if length(turn.starts) > 0
        answer = actions(turn, turn.starts)
        agent_start!(agent, answer, observations(turn, turn.starts), turn.starts)
        check_used(answer, "agent_start!")
    end
    return nothing
end

"Throws UsageError for a routine that cannot have written its actions, such as one that says `actions = …`."
check_used(answer::Actions, routine) = answer.are_used || throw(UsageError(
    "got no actions from $routine, wanted $(choices(answer)) of `actions` written, as in actions[] .= …; " *
    "`actions = …` writes nothing",
))

const AGENT_ROUTINES = (
    (agent_init!, (TaskSpec,)),
    (agent_start!, (Actions, Observations, Starts)),
    (agent_step!, (Actions, Vector{Float64}, Observations, Steps)),
    (agent_end!, (Vector{Float64}, Observations, Ends)),
    (agent_freeze!, ()),
    (agent_message, (String,)),
    (agent_cleanup!, ()),
    (adapt_begin!, ()),
    (adapt!, ()),
    (agent_budget!, (Budget,)),
    (turn!, (Turn,)),
)

"Throws UsageError, naming the routine, if the agent cannot play a turn, or a routine's method cannot be chosen."
function check_routines(::T) where {T<:Agent}
    check_ambiguous(T, AGENT_ROUTINES)
    which(turn!, Tuple{T,Turn}) == which(turn!, Tuple{Agent,Turn}) || return nothing
    hasmethod(agent_start!, Tuple{T,Actions,Observations,Starts}) ||
        throw(lacking(T, "agent_start!(::$(nameof(T)), actions, observations, starts)"))
    hasmethod(agent_step!, Tuple{T,Actions,Vector{Float64},Observations,Steps}) ||
        throw(lacking(T, "agent_step!(::$(nameof(T)), actions, rewards, observations, steps)"))
    return nothing
end

lacking(::Type{T}, routine) where {T} =
    UsageError("$(nameof(T)) lacks a routine, wanted a method Reglue.$routine, named with the `Reglue.`; or turn!")

"Throws UsageError, naming the methods, for a routine for which Julia cannot choose between several."
function check_ambiguous(::Type{T}, routines) where {T}
    for (routine, types) in routines
        hasmethod(routine, Tuple{T,types...}) && continue
        call = Tuple{typeof(routine),T,types...}
        rivals = filter(method -> call <: method.sig, collect(methods(routine)))
        length(rivals) > 1 && throw(UsageError(
            "got methods of $routine between which Julia cannot choose for a $(nameof(T)): " *
            "$(join(rivals, "; ")); wanted one that is $routine(::$(nameof(T)), …)",
        ))
    end
end
