# Which routine of an agent answers which call.

prefix(::Agent) = "reglue_"
role(::Agent) = "agent"

abilities(agent::Agent) = UInt32(1) * partial_turns(agent) | UInt32(2) * adapts(agent) | UInt32(4) * !episodic(agent)

"Returns the task. The next `reglue_next` answers routines that return nothing."
function answer!(@nospecialize(agent::Agent), handle, memory::Ptr{Cvoid}, @nospecialize(task))
    call = unsafe_load(Ptr{CCall}(memory))
    agent_budget!(agent, budget(call))
    if call.kind == TURN
        act!(agent, handle, call, turn(call, task, zero_copy(agent)))
    elseif call.kind == MESSAGE
        answer_message!(agent, handle, unsafe_string(call.text))
    elseif call.kind == INIT
        task = TypedSpec(task_spec(call.spec))
        agent_init!(agent, task.spec)
    elseif call.kind == FREEZE
        agent_freeze!(agent)
    elseif call.kind == ADAPT_BEGIN
        adapt_begin!(agent)
    elseif call.kind == ADAPT_END
        adapt!(agent)
    elseif call.kind == CLEANUP
        agent_cleanup!(agent)
    end
    return task
end

function act!(@nospecialize(agent), handle, call::CCall, turn::Turn)
    see!(turn.task.goals, turn)
    turn!(agent, turn)
    check_abandoned(turn)
    write_actions!(turn, call.actions)
    abandoned, count = UInt32.(turn.abandoned .- 1), length(turn.abandoned)
    check(handle, @gc_safe ccall(symbol(:reglue_act), Cint, (Ptr{Cvoid}, Ptr{UInt32}, Csize_t), handle, abandoned, count))
end

function check_abandoned(turn::Turn)
    acting = [turn.steps.slots; turn.starts.slots]
    for slot in turn.abandoned
        slot in acting || throw(UsageError("got slot $slot to abandon, wanted one that steps or starts in this turn: " *
                                          join(acting, ", ")))
    end
end

function answer_message!(@nospecialize(agent), handle, text::String)
    answer = text_of("the answer of agent_message", agent_message(agent, text))
    check(handle, @gc_safe ccall(symbol(:reglue_answer), Cint, (Ptr{Cvoid}, Cstring), handle, answer))
end
