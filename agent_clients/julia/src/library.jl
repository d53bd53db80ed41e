# The C library, libreglue: where it is, and its structs as agent_clients/c/include/reglue.h has them.

const handle = Ref{Ptr{Cvoid}}(C_NULL)

"The address of one of the library's functions; opens the library at the first use."
symbol(name::Symbol) = dlsym(library(), name)

function library()
    handle[] == C_NULL && (handle[] = open_library(get(ENV, "REGLUE_LIBRARY", "libreglue.so.0")))
    return handle[]
end

function open_library(path::String)
    opened = try
        dlopen(path)
    catch error
        reason = sprint(showerror, error)
        throw(UsageError("cannot open libreglue at $path: $reason; build agent_clients/c and set " *
                         "REGLUE_LIBRARY to the path of libreglue.so"))
    end
    version = dlsym(opened, :reglue_version; throw_error = false)
    version === nothing && throw(UsageError("got $path, wanted libreglue.so; set REGLUE_LIBRARY to its path"))
    number = unsafe_string(ccall(version, Cstring, ()))
    check_version(path, VersionNumber(number))
    ccall(dlsym(opened, :reglue_set_sdk), Cvoid, (Cstring,), "reglue-julia $number")
    ccall(dlsym(opened, :reglue_set_stop), Cvoid, (Ptr{Cint},), pending())
    ccall(dlsym(opened, :reglue_handle_signals), Cvoid, (Cint,), 0)  # Julia does, and Reglue.main
    return opened
end

"Not 0 while Ctrl-C is to be thrown: waits end by it, and Julia throws it where they return."
pending() = cglobal(:jl_signal_pending, Cint)

const INTERRUPTED = Cint[1]

"Close a handle so that its glue hears of Ctrl-C: Julia has thrown its exception, and keeps no flag of it."
function interrupted(close)
    ccall(symbol(:reglue_set_stop), Cvoid, (Ptr{Cint},), INTERRUPTED)
    try
        close()
    finally
        ccall(symbol(:reglue_set_stop), Cvoid, (Ptr{Cint},), pending())
    end
end

const SIGTERM, SIG_UNBLOCK = Cint(15), Cint(1)

"""
From now on SIGTERM ends what waits, as [`main`](@ref) says. Julia leaves it to a thread of its own, which dumps stacks and
exits; the system prefers the main thread where that lets it through.
"""
function handle_termination()
    ccall(symbol(:reglue_handle_signals), Cvoid, (Cint,), 1)
    signals = zeros(UInt8, 128)  # sigset_t
    ccall(:sigaddset, Cint, (Ptr{UInt8}, Cint), signals, SIGTERM)
    ccall(:pthread_sigmask, Cint, (Cint, Ptr{UInt8}, Ptr{Cvoid}), SIG_UNBLOCK, signals, C_NULL)
    return nothing
end

"143 after SIGTERM; 0 if it has not come."
termination_code() = handle[] == C_NULL ? 0 : Int(ccall(symbol(:reglue_exit_code), Cint, (Cint,), DONE))

const LIBRARY = v"0.1"  # libraries of these two numbers have the structs below

function check_version(path::String, got::VersionNumber)
    (got.major, got.minor) == (LIBRARY.major, LIBRARY.minor) && return nothing
    throw(UsageError("got libreglue $got at $path, wanted $(LIBRARY.major).$(LIBRARY.minor): build agent_clients/c " *
                     "from the same checkout as this package"))
end

"""
A `ccall` that may wait. Meanwhile Julia's garbage collector does not wait for this thread: a thread that allocates
goes on. Between entering and leaving, only the call itself runs, with arguments that are converted already.
"""
macro gc_safe(call)
    address, result, types, arguments = call.args[2], call.args[3], call.args[4].args, call.args[5:end]
    roots, values = [gensym(:root) for _ in arguments], [gensym(:value) for _ in arguments]
    convert = [:($to = Base.cconvert($(esc(type)), $(esc(from)))) for (to, type, from) in zip(roots, types, arguments)]
    unwrap = [:($to = Base.unsafe_convert($(esc(type)), $from)) for (to, type, from) in zip(values, types, roots)]
    return quote
        address = $(esc(address))
        $(convert...)
        GC.@preserve $(roots...) begin
            $(unwrap...)
            state = ccall(:jl_gc_safe_enter, Int8, ())
            code = ccall(address, $(esc(result)), ($(map(esc, types)...),), $(values...))
            ccall(:jl_gc_safe_leave, Cvoid, (Int8,), state)
        end
        code
    end
end

const OK, CALL, DONE = Cint.((0, 100, 101))

"Refused routines; their codes count from 30."
const REFUSALS = (:WRONG_SIZE, :OUT_OF_ORDER, :UNKNOWN_KEY, :NOT_SUPPORTED, :OUT_OF_DOMAIN, :REFUSED_ROUTINE)

const INIT, TURN, FREEZE, ADAPT_BEGIN, ADAPT_END, MESSAGE, CLEANUP = Int32.(1:7)

const ENV_INIT, ENV_PLAY, ENV_GET_STATE, ENV_SET_STATE, ENV_GET_RANDOM_SEED, ENV_SET_RANDOM_SEED, ENV_STANDARDIZE,
    ENV_MESSAGE, ENV_CLEANUP = Int32.(1:9)

struct COptions
    address::Cstring
    token::Cstring
    ca::Cstring
    tls_name::Cstring
    name::Cstring
    connect_timeout_s::Cdouble
    transport::Int32
    abilities::UInt32
    max_slots::UInt32
end

struct CTensor
    name::Cstring
    shape::Ptr{UInt32}
    axes::UInt32
    dtype::Int32
    domain::Int32
    reserved::UInt32
    size::UInt64
    row_bytes::UInt64
    low::Ptr{Float64}
    lows::UInt64
    high::Ptr{Float64}
    highs::UInt64
    n::Ptr{UInt64}
    ns::UInt64
    start::Int64
end

struct CSpec
    observations::Ptr{CTensor}
    actions::Ptr{CTensor}
    observation_count::UInt32
    action_count::UInt32
    reward_low::Float64
    reward_high::Float64
    discount::Float64
    horizon::UInt32
    slots::UInt32
    continuing::UInt8
    rewards_in_evaluation::UInt8
    extra::Cstring
end

struct CCall
    kind::Int32
    phase::Int32
    ends::UInt32
    steps::UInt32
    starts::UInt32
    reserved::UInt32
    end_slots::Ptr{UInt32}
    end_kinds::Ptr{UInt8}
    step_slots::Ptr{UInt32}
    step_flags::Ptr{UInt8}
    start_slots::Ptr{UInt32}
    start_seeds::Ptr{UInt64}
    rewards::Ptr{Float64}
    observations::Ptr{Ptr{Cvoid}}
    actions::Ptr{Ptr{Cvoid}}
    spec::Ptr{CSpec}
    text::Cstring
    budget_us::NTuple{4,UInt64}  # step, bank, adapt, run
    limited::UInt32  # a bit each
    budget_reserved::UInt32
end

struct CRows
    count::UInt32
    reserved::UInt32
    slots::Ptr{UInt32}
    rewards::Ptr{Float64}
    flags::Ptr{UInt8}
    observations::Ptr{Ptr{Cvoid}}
    actions::Ptr{Ptr{Cvoid}}
end

struct CTask
    name::Cstring
    variants::UInt32
    reserved::UInt32
end

struct CCell
    task::Cstring
    variant::UInt32
    phase::Int32
    seed::UInt64
    repeat::UInt64
    steps::UInt64
end

struct CEnvironmentCall
    kind::Int32
    slots::UInt32
    slot::UInt32
    steps::UInt32
    starts::UInt32
    reserved::UInt32
    step_slots::Ptr{UInt32}
    start_slots::Ptr{UInt32}
    cells::Ptr{CCell}
    actions::Ptr{Ptr{Cvoid}}
    rewards::Ptr{Float64}
    flags::Ptr{UInt8}
    observations::Ptr{Ptr{Cvoid}}
    spec::Ptr{CSpec}
    text::Cstring
    snapshot::Ptr{Cvoid}
    snapshot_bytes::UInt64
    seed::UInt64
end
