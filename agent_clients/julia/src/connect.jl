# Plays an agent at a glue.

const TRANSPORTS = (auto = 0, grpc = 1, unix = 2)

"""
    Reglue.connect(agent; address, token, ca, tls_name, name, connect_timeout_s = 60, transport = :auto)

Play the agent until the glue says farewell; returns its words.

- `address`: `"host:port"` or a join string; the environment variable `REGLUE_ADDRESS` without it.
- `token`: the join string's, or that of the environment variable `REGLUE_TOKEN`, without it.
- `ca`: the path of a PEM file: speak TLS and trust this authority alone; `tls_name`: the name on the
  glue's certificate.
- `name`: what the agent is called in reports; its type's name without it.
- `connect_timeout_s`: how long to wait for a glue that is not up, or is gone.
- `transport`: `:auto` (the Unix socket of a glue on the same host if it can be opened), `:grpc`, `:unix`.

A connection that breaks is made again as long as the glue allows, and every call is carried out once.

Throws `Unreachable`, `Refused`, `SessionLost`, `UsageError`, and whatever the agent throws, after the glue
was told: a script that lets it pass leaves with exit code 1.
"""
function connect(
    agent::Agent;
    address::Union{Nothing,AbstractString} = nothing,
    token::Union{Nothing,AbstractString} = nothing,
    ca::Union{Nothing,AbstractString} = nothing,
    tls_name::Union{Nothing,AbstractString} = nothing,
    name::AbstractString = string(nameof(typeof(agent))),
    connect_timeout_s::Real = 60,
    transport::Symbol = :auto,
)
    check_agent(agent)
    haskey(TRANSPORTS, transport) ||
        throw(UsageError("got transport :$transport, wanted :auto, :grpc or :unix"))
    texts = (address, token, ca, tls_name, name)
    session = open_session(texts, connect_timeout_s, TRANSPORTS[transport], agent)
    try
        return play(agent, session)
    finally
        ccall(symbol(:reglue_close), Cvoid, (Ptr{Cvoid},), session)
    end
end

function open_session(texts, connect_timeout_s, transport, agent)
    held = [text === nothing ? nothing : Base.cconvert(Cstring, String(text)) for text in texts]
    session = Ref{Ptr{Cvoid}}(C_NULL)
    GC.@preserve held begin
        words = (text === nothing ? Cstring(C_NULL) : Base.unsafe_convert(Cstring, text) for text in held)
        options = COptions(words..., connect_timeout_s, transport, abilities(agent), max_slots(agent))
        code = ccall(symbol(:reglue_connect), Cint, (Ref{COptions}, Ref{Ptr{Cvoid}}), options, session)
    end
    code == OK && return session[]
    failure = error_of(session[], code)
    ccall(symbol(:reglue_close), Cvoid, (Ptr{Cvoid},), session[])
    throw(failure)
end

abilities(agent) = UInt32(1) * partial_turns(agent) | UInt32(2) * adapts(agent) | UInt32(4) * !episodic(agent)

function play(agent::Agent, session::Ptr{Cvoid})
    task = nothing
    call = Ref{Ptr{CCall}}(C_NULL)
    while true
        code = ccall(symbol(:reglue_next), Cint, (Ptr{Cvoid}, Ref{Ptr{CCall}}), session, call)
        code == DONE && return message(session)
        check(session, code, CALL)
        told = unsafe_load(call[])
        told.kind == INIT && (task = task_of(task_spec(told.spec)))
        carry_out!(agent, session, told, task)
    end
end

"Call the routine. Sends what the agent throws to the glue as its fault, and throws it on."
function carry_out!(agent, session, told, task)
    try
        agent_budget!(agent, budget(told))
        answer!(agent, session, told, task)
    catch error
        what = replace(sprint(showerror, error, catch_backtrace()), '\0' => '?')
        ccall(symbol(:reglue_fault), Cint, (Ptr{Cvoid}, Cstring), session, what)
        rethrow()
    end
    return nothing
end

"The next `reglue_next` answers routines that return nothing."
function answer!(agent, session, told, task)
    told.kind == TURN && return act!(agent, session, turn(told, task))
    told.kind == MESSAGE && return answer_message!(agent, session, unsafe_string(told.text))
    told.kind == INIT && return agent_init!(agent, task.spec)
    told.kind == FREEZE && return agent_freeze!(agent)
    told.kind == ADAPT_BEGIN && return adapt_begin!(agent)
    told.kind == ADAPT_END && return adapt!(agent)
    told.kind == CLEANUP && return agent_cleanup!(agent)
end

function act!(agent, session, turn::Turn)
    see!(turn.starts.goals, turn)
    turn!(agent, turn)
    given_up, many = turn.abandoned, length(turn.abandoned)
    code = ccall(symbol(:reglue_act), Cint, (Ptr{Cvoid}, Ptr{UInt32}, Csize_t), session, given_up, many)
    check(session, code, OK)
end

function answer_message!(agent, session, text::String)
    answer = String(agent_message(agent, text))
    code = ccall(symbol(:reglue_answer), Cint, (Ptr{Cvoid}, Cstring), session, answer)
    check(session, code, OK)
end

check(session, code, wanted) = code == wanted || throw(error_of(session, code))

message(session) = unsafe_string(ccall(symbol(:reglue_errmsg), Cstring, (Ptr{Cvoid},), session))

function error_of(session, code)
    words = message(session)
    kind = Symbol(unsafe_string(ccall(symbol(:reglue_result_name), Cstring, (Cint,), code)))
    kind == :UNREACHABLE && return Unreachable(words)
    kind in (:REFUSED, :WRONG_TOKEN, :WRONG_VERSION, :WRONG_TLS, :BUSY) && return Refused(kind, words)
    kind == :LOST && return SessionLost(words)
    return UsageError(words)
end
