# Every error that Reglue throws. The type says whose fault it is.

"Root of the tree; `message` says what it got, what it wanted and what to do."
abstract type ReglueError <: Exception end

"A request that cannot be carried out; nothing changed."
struct UsageError <: ReglueError
    message::String
end

"""
    RoutineRefused(code, got, wanted)

A benchmark program's or an environment's routine was refused; nothing changed. A program that does not catch it has
failed. `code` is `:OUT_OF_ORDER` (not legal
now; the message says what to call first), `:NOT_SUPPORTED` (the environment lacks it), `:UNKNOWN_KEY`, `:OUT_OF_DOMAIN`
(an unknown slot, an invalid seed or limit), `:WRONG_SIZE` (rows that do not fit the spec) or `:REFUSED_ROUTINE`.
"""
struct RoutineRefused <: ReglueError
    code::Symbol
    message::String
    got::String  # "" if the message is the glue's
    wanted::String
end

RoutineRefused(code::Symbol, message::AbstractString) = RoutineRefused(code, message, "", "")
RoutineRefused(code::Symbol, got::AbstractString, wanted::AbstractString) =
    RoutineRefused(code, "got $got, wanted $wanted", got, wanted)

"The agent failed, as a benchmark program sees it: the episodes of the routine's slots are over."
struct AgentFault <: ReglueError
    message::String
end

"The environment failed, as a benchmark program sees it: the episodes of the routine's slots are void."
struct EnvironmentFault <: ReglueError
    message::String
end

"No glue answered at the address in time."
struct Unreachable <: ReglueError
    message::String
end

"The glue refused the program; `code` is `:WRONG_TOKEN`, `:WRONG_VERSION`, `:WRONG_TLS`, `:BUSY` or `:REFUSED`."
struct Refused <: ReglueError
    code::Symbol
    message::String
end

"The glue went away in mid-session."
struct SessionLost <: ReglueError
    message::String
end

"What an error says in one line, for the glue: a trace, and what else Julia prints of it, names files of this machine."
one_line(error) = replace(String(first(split(sprint(showerror, error), '\n'))), '\0' => '?')

# Checks of numbers and texts before they go to the library.

"Whether that type can hold the value as it is."
holds(::Type{T}, value) where {T} = false
holds(::Type{<:AbstractFloat}, value::Real) = true
holds(::Type{T}, value::Real) where {T<:Integer} = isinteger(value) && typemin(T) <= value <= typemax(T)

"The integer. Throws UsageError, in words that begin with `what`."
function whole(T, what, number; least = 0, most = typemax(T))
    holds(T, number) && least <= number <= most && return T(number)
    throw(UsageError("got $what $(repr(number)), wanted an integer from $least to $most"))
end

"The text, as the library reads it. Throws UsageError."
function text_of(what, text)
    text isa AbstractString || throw(UsageError("got a $(typeof(text)) as $what, wanted a String"))
    '\0' in text && throw(UsageError("got a NUL in $what, wanted a text without one"))
    return String(text)
end

function Base.showerror(io::IO, error::ReglueError)
    print(io, nameof(typeof(error)), ": ", error.message)
end
