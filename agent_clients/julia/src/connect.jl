# Joins a glue and plays a session of an agent.

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

Throws `Unreachable`, `Refused`, `SessionLost`, `UsageError`, and whatever the agent throws: that is printed to
stderr with its stack trace, then told to the glue, then thrown.
"""
connect(agent::Agent; options...) = play_session(agent, Ref(false); options...)

"""
    Reglue.main(agent; options...)

A whole program: play a session as [`Reglue.connect`](@ref), and leave the process when it is over. What went wrong
is said on stderr, once. Exit codes are those of `reglue join`: 0 after a farewell, 1 if the agent failed or the
glue went away, 2 for wrong usage and if the glue refused.
"""
function main(agent::Agent; options...)
    has_failed = Ref(false)
    code = try
        println(stderr, "reglue: ", play_session(agent, has_failed; options...))
        0
    catch error
        has_failed[] || say(error, catch_backtrace())
        !has_failed[] && (error isa UsageError || error isa Refused) ? 2 : 1
    end
    exit(code)
end

say(error::ReglueError, backtrace) = println(stderr, "reglue: ", error.message)
say(error, backtrace) = println(stderr, "reglue: ", sprint(showerror, error, backtrace))

"`has_failed` becomes true where the agent throws; it is printed then."
function play_session(
    @nospecialize(agent::Agent),
    has_failed;
    name::AbstractString = string(nameof(typeof(agent))),
    options...,
)
    check_agent(agent)
    session = open_handle("reglue_", Joining(name; options...), abilities(agent), max_slots(agent))
    try
        return play(agent, session, has_failed)
    finally
        close_handle("reglue_", session)
    end
end

"Where to join, and as what."
struct Joining
    texts::NTuple{5,Union{Nothing,String}}  # address, token, ca, tls_name, name
    connect_timeout_s::Float64
    transport::Int
end

function Joining(
    name::AbstractString;
    address::Union{Nothing,AbstractString} = nothing,
    token::Union{Nothing,AbstractString} = nothing,
    ca::Union{Nothing,AbstractString} = nothing,
    tls_name::Union{Nothing,AbstractString} = nothing,
    connect_timeout_s::Real = 60,
    transport::Symbol = :auto,
)
    haskey(TRANSPORTS, transport) ||
        throw(UsageError("got transport :$transport, wanted :auto, :grpc or :unix"))
    return Joining((address, token, ca, tls_name, name), connect_timeout_s, TRANSPORTS[transport])
end

"Opens a handle. `prefix` is what its functions' names begin with: \"reglue_\", \"reglue_experiment_\"."
function open_handle(prefix::String, joining::Joining, abilities = 0, max_slots = 0)
    handle, texts = Ref{Ptr{Cvoid}}(C_NULL), joining.texts
    GC.@preserve texts begin
        options = COptions(
            map(c_text, texts)..., joining.connect_timeout_s, joining.transport, abilities, max_slots,
        )
        address = symbol(Symbol(prefix, :connect))
        code = ccall(address, Cint, (Ref{COptions}, Ref{Ptr{Cvoid}}), options, handle)
    end
    code == OK && return handle[]
    failure = error_of(code, message(prefix, handle[]))
    close_handle(prefix, handle[])
    throw(failure)
end

c_text(::Nothing) = Cstring(C_NULL)
c_text(text::String) = Base.unsafe_convert(Cstring, text)

close_handle(prefix, handle) = @gc_safe ccall(symbol(Symbol(prefix, :close)), Cvoid, (Ptr{Cvoid},), handle)

abilities(agent) = UInt32(1) * partial_turns(agent) | UInt32(2) * adapts(agent) | UInt32(4) * !episodic(agent)

function play(@nospecialize(agent::Agent), session::Ptr{Cvoid}, has_failed)
    task, call = nothing, Ref{Ptr{CCall}}(C_NULL)
    while true
        code = @gc_safe ccall(symbol(:reglue_next), Cint, (Ptr{Cvoid}, Ptr{Ptr{CCall}}), session, call)
        code == DONE && return message("reglue_", session)
        check(session, code, CALL)
        told = unsafe_load(call[])
        told.kind == INIT && (task = TypedSpec(task_spec(told.spec)))
        carry_out!(agent, session, told, task, has_failed)
    end
end

"Call the routine. Sends what the agent throws to the glue as its fault, and throws it on."
function carry_out!(@nospecialize(agent), session, told, @nospecialize(task), has_failed)
    try
        agent_budget!(agent, budget(told))
        answer!(agent, session, told, task)
    catch error
        what = sprint(showerror, error, catch_backtrace())
        println(stderr, "reglue: the agent failed: ", what)  # before the glue hears of it, and may end this process
        has_failed[] = true
        what = replace(what, '\0' => '?')
        @gc_safe ccall(symbol(:reglue_fault), Cint, (Ptr{Cvoid}, Cstring), session, what)
        rethrow()
    end
    return nothing
end

"The next `reglue_next` answers routines that return nothing."
function answer!(@nospecialize(agent), session, told, @nospecialize(task))
    told.kind == TURN && return act!(agent, session, turn(told, task))
    told.kind == MESSAGE && return answer_message!(agent, session, unsafe_string(told.text))
    told.kind == INIT && return agent_init!(agent, task.spec)
    told.kind == FREEZE && return agent_freeze!(agent)
    told.kind == ADAPT_BEGIN && return adapt_begin!(agent)
    told.kind == ADAPT_END && return adapt!(agent)
    told.kind == CLEANUP && return agent_cleanup!(agent)
end

function act!(@nospecialize(agent), session, turn::Turn)
    see!(turn.task.goals, turn)
    turn!(agent, turn)
    given_up, many = turn.abandoned, length(turn.abandoned)
    code = @gc_safe ccall(symbol(:reglue_act), Cint, (Ptr{Cvoid}, Ptr{UInt32}, Csize_t), session, given_up, many)
    check(session, code, OK)
end

function answer_message!(@nospecialize(agent), session, text::String)
    answer = String(agent_message(agent, text))
    code = @gc_safe ccall(symbol(:reglue_answer), Cint, (Ptr{Cvoid}, Cstring), session, answer)
    check(session, code, OK)
end

check(session, code, wanted) = code == wanted || throw(error_of(code, message("reglue_", session)))

message(prefix, handle) = unsafe_string(ccall(symbol(Symbol(prefix, :errmsg)), Cstring, (Ptr{Cvoid},), handle))

function error_of(code, words)
    kind = Symbol(unsafe_string(ccall(symbol(:reglue_result_name), Cstring, (Cint,), code)))
    kind == :UNREACHABLE && return Unreachable(words)
    kind in (:REFUSED, :WRONG_TOKEN, :WRONG_VERSION, :WRONG_TLS, :BUSY) && return Refused(kind, words)
    kind == :LOST && return SessionLost(words)
    kind == :AGENT_FAULT && return AgentFault(words)
    kind == :ENVIRONMENT_FAULT && return EnvironmentFault(words)
    kind in REFUSALS && return RoutineRefused(kind, words)
    return UsageError(words)
end

const REFUSALS = (:WRONG_SIZE, :OUT_OF_ORDER, :UNKNOWN_KEY, :NOT_SUPPORTED, :OUT_OF_DOMAIN, :REFUSED_ROUTINE)
