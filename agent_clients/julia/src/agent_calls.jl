# Which routine of an agent answers which call.

prefix(::Agent) = "reglue_"
role(::Agent) = "agent"

abilities(agent::Agent) = UInt32(1) * partial_turns(agent) | UInt32(2) * adapts(agent) | UInt32(4) * !episodic(agent)

"Returns the task. The next `reglue_next` answers routines that return nothing."
function answer!(@nospecialize(agent::Agent), handle, call::Ptr{Cvoid}, @nospecialize(task))
    told = unsafe_load(Ptr{CCall}(call))
    agent_budget!(agent, budget(told))
    if told.kind == TURN
        act!(agent, handle, told, turn(told, task, zero_copy(agent)))
    elseif told.kind == MESSAGE
        answer_message!(agent, handle, unsafe_string(told.text))
    elseif told.kind == INIT
        task = TypedSpec(task_spec(told.spec))
        agent_init!(agent, task.spec)
    elseif told.kind == FREEZE
        agent_freeze!(agent)
    elseif told.kind == ADAPT_BEGIN
        adapt_begin!(agent)
    elseif told.kind == ADAPT_END
        adapt!(agent)
    elseif told.kind == CLEANUP
        agent_cleanup!(agent)
    end
    return task
end

function act!(@nospecialize(agent), handle, told::CCall, turn::Turn)
    see!(turn.task.goals, turn)
    turn!(agent, turn)
    check_abandoned(turn)
    write_actions!(turn, told.actions)
    given_up, many = UInt32.(turn.abandoned .- 1), length(turn.abandoned)
    check(handle, @gc_safe ccall(symbol(:reglue_act), Cint, (Ptr{Cvoid}, Ptr{UInt32}, Csize_t), handle, given_up, many))
end

function check_abandoned(turn::Turn)
    asked = [turn.steps.slots; turn.starts.slots]
    for slot in turn.abandoned
        slot in asked || throw(UsageError("got slot $slot to abandon, wanted one that steps or starts in this turn: " *
                                          join(asked, ", ")))
    end
end

function answer_message!(@nospecialize(agent), handle, text::String)
    answer = text_of("the answer of agent_message", agent_message(agent, text))
    check(handle, @gc_safe ccall(symbol(:reglue_answer), Cint, (Ptr{Cvoid}, Cstring), handle, answer))
end
