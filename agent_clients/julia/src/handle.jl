# A session's handle in the library: how it is opened and closed, and what its functions say.

"`prefix` is what the names of its functions begin with: \"reglue_\", \"reglue_environment_\", \"reglue_experiment_\"."
struct Handle
    prefix::String
    at::Ptr{Cvoid}  # NULL once closed
end

Base.cconvert(::Type{Ptr{Cvoid}}, handle::Handle) =
    handle.at != C_NULL ? handle.at : throw(SessionLost("the program has left"))

"Where to join, and as what."
struct Joining
    texts::NTuple{5,Union{Nothing,String}}  # address, token, ca, tls_name, name
    connect_timeout_s::Float64
    transport::Int
end

const TRANSPORTS = (auto = 0, grpc = 1, unix = 2)

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
    named = (address = address, token = token, ca = ca, tls_name = tls_name, name = name)
    texts = map((option, text) -> text === nothing ? nothing : text_of(string(option), text), keys(named), values(named))
    return Joining(texts, connect_timeout_s, TRANSPORTS[transport])
end

function open_handle(prefix::String, joining::Joining, abilities::UInt32 = UInt32(0), max_slots::UInt32 = UInt32(0))
    at, texts = Ref{Ptr{Cvoid}}(C_NULL), joining.texts
    GC.@preserve texts begin
        options = COptions(
            map(c_text, texts)..., joining.connect_timeout_s, joining.transport, abilities, max_slots,
        )
        connect = symbol(Symbol(prefix, :connect))
        code = @gc_safe ccall(connect, Cint, (Ref{COptions}, Ref{Ptr{Cvoid}}), options, at)
    end
    handle = Handle(prefix, at[])
    code == OK && return handle
    failure = error_of(code, message(handle))
    close_handle(handle)
    throw(failure)
end

c_text(::Nothing) = Cstring(C_NULL)
c_text(text::String) = Base.unsafe_convert(Cstring, text)

close_handle(handle::Handle) =
    @gc_safe ccall(symbol(Symbol(handle.prefix, :close)), Cvoid, (Ptr{Cvoid},), handle.at)

"The last error, or the glue's farewell."
message(handle::Handle) =
    unsafe_string(ccall(symbol(Symbol(handle.prefix, :errmsg)), Cstring, (Ptr{Cvoid},), handle.at))

"Throws the error of a function that returned `code`, unless that is the wanted one."
function check(handle::Handle, code, wanted = OK)
    code == wanted || throw(error_of(code, message(handle)))
    return nothing
end

function error_of(code, words)
    kind = Symbol(unsafe_string(ccall(symbol(:reglue_result_name), Cstring, (Cint,), code)))
    kind == :UNREACHABLE && return Unreachable(words)
    kind in (:REFUSED, :WRONG_TOKEN, :WRONG_VERSION, :WRONG_TLS, :BUSY) && return Refused(kind, words)
    kind == :LOST && return SessionLost(words)
    kind == :AGENT_FAULT && return AgentFault(shift_slots(words, FAILED_SLOTS, 1))
    kind == :ENVIRONMENT_FAULT && return EnvironmentFault(shift_slots(words, FAILED_SLOTS, 1))
    kind in REFUSALS && return RoutineRefused(kind, shift_slots(words, REFUSED_SLOTS, 1))
    return UsageError(words)
end

# The glue counts slots from 0, Julia from 1.

"How the glue names slots, and the range that they must be in, when it refuses a routine."
const REFUSED_SLOTS = r"\bslot \d+(, wanted \d+ to \d+)?|\bslots \[[\d, ]*\]"

"How the glue names slots that failed; what else a fault says is text of the agent or the environment."
const FAILED_SLOTS = r"^slot \d+(?=: | is lost: )|^the agent gave up its episode in slots \[[\d, ]*\]"m

"`text`, with `by` added to every number in what matches `pattern`."
shift_slots(text, pattern, by) =
    replace(text, pattern => part -> replace(part, r"\d+" => number -> string(parse(BigInt, number) + by)))
