# Joins a glue and plays a session, of an agent or an environment.

"""
    Reglue.connect(agent; address, token, ca, tls_name, name, connect_timeout_s = 60, transport = :auto)
    Reglue.connect(environment; options...)

Play the agent or the environment until the glue says farewell; returns its words.

- `address`: `"host:port"` or a join string; the environment variable `REGLUE_ADDRESS` without it.
- `token`: the join string's, or that of the environment variable `REGLUE_TOKEN`, without it.
- `ca`: the path of a PEM file: speak TLS and trust this authority alone; `tls_name`: the name on the
  glue's certificate.
- `name`: what it is called in reports; its type's name without it.
- `connect_timeout_s`: how long to wait for a glue that is not up. One that was joined says how long it is looked for when it is gone.
- `transport`: `:auto` (the Unix socket of a glue on the same host if it can be opened), `:grpc`, `:unix`.

A connection that breaks is made again as long as the glue allows, and every call is carried out once.

Throws `Unreachable`, `Refused`, `SessionLost`, `UsageError`, and whatever the agent or environment throws: that is
printed to stderr with its stack trace, then sent to the glue in one line, then thrown.
"""
connect(player::Union{Agent,Environment}; options...) = play_session(player, Ref(false); options...)

"""
    Reglue.main(agent; options...)
    Reglue.main(environment; options...)
    Reglue.main(program; options...)

A whole program: play a session as [`Reglue.connect`](@ref), or that of an [`Experiment`](@ref), and leave the process
when it is over. An error is printed to stderr, once. Exit codes are those of `reglue join`: 0 after a farewell, 1
if the agent, environment or program failed or the glue went away, 2 for wrong usage and if the glue refused, 130 after
Ctrl-C and 143 after SIGTERM, after telling the glue; with `handle_signals = false` SIGTERM does what it does in Julia.
"""
main(player::Union{Agent,Environment}; handle_signals = true, options...) =
    leave(has_failed -> say(play_session(player, has_failed; options...)), handle_signals)

main(program; handle_signals = true, options...) = leave(_ -> Experiment(program; options...), handle_signals)

function leave(@nospecialize(session), handle_signals)
    Base.exit_on_sigint(false)  # Ctrl-C is thrown, and the glue hears of it before the process ends
    has_failed = Ref(false)
    code = try
        handle_signals && handle_termination()
        session(has_failed)
        0
    catch error
        has_failed[] || say(error, catch_backtrace())
        has_failed[] ? 1 : exit_code(error)
    end
    terminated = termination_code()
    exit(terminated == 0 ? code : terminated)
end

say(words::String) = println(stderr, "reglue: $words")  # one string: Julia compiles a println of two anew
say(error::ReglueError, backtrace) = say(error.message)
say(::InterruptException, backtrace) = say("interrupted")
say(error, backtrace) = say(sprint(showerror, error, backtrace))
say(error::RoutineRefused, backtrace) = invoke(say, Tuple{Any,Any}, error, backtrace)  # which line it was

exit_code(::Union{UsageError,Refused}) = 2
exit_code(::InterruptException) = 130
exit_code(error) = 1

"Sets `has_failed` if the player throws; its error is printed by then."
function play_session(
    @nospecialize(player),
    has_failed;
    name::AbstractString = string(nameof(typeof(player))),
    options...,
)
    check_routines(player)
    joining, most = Joining(name; options...), whole(UInt32, "max_slots", max_slots(player))
    handle = open_handle(prefix(player), joining, abilities(player), most)
    try
        return play(player, handle, has_failed)
    catch error
        error isa InterruptException && send_fault(handle, "interrupted")  # ignored if the library has sent it
        rethrow()
    finally
        close_handle(handle)
    end
end

function play(@nospecialize(player), handle::Handle, has_failed::Ref{Bool})
    next, call = symbol(Symbol(handle.prefix, :next)), Ref{Ptr{Cvoid}}(C_NULL)
    task = nothing  # TypedSpec, from the first init on
    while true
        code = @gc_safe ccall(next, Cint, (Ptr{Cvoid}, Ptr{Ptr{Cvoid}}), handle, call)
        code == DONE && return message(handle)
        check(handle, code, CALL)
        task = carry_out!(player, handle, call[], task, has_failed)
    end
end

"Call the routine; returns the task. Sends what the player throws to the glue as its fault, and throws it on."
function carry_out!(@nospecialize(player), handle::Handle, call::Ptr{Cvoid}, @nospecialize(task), has_failed::Ref{Bool})
    try
        return answer!(player, handle, call, task)
    catch error
        error isa InterruptException && rethrow()
        # Before the glue hears of it, and may end this process.
        println(stderr, "reglue: the ", role(player), " failed: ", sprint(showerror, error, catch_backtrace()))
        has_failed[] = true
        send_fault(handle, one_line(error))
        rethrow()
    end
end

"Tells the glue why the session ends."
send_fault(handle::Handle, what::String) =
    @gc_safe ccall(symbol(Symbol(handle.prefix, :fault)), Cint, (Ptr{Cvoid}, Cstring), handle, what)
