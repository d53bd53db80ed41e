# Every error that Reglue throws. The type says whose fault it is.

"Root of the tree; `message` says what it got, what it wanted and what to do."
abstract type ReglueError <: Exception end

"A request that cannot be carried out; nothing changed."
struct UsageError <: ReglueError
    message::String
end

"No glue answered at the address in time."
struct Unreachable <: ReglueError
    message::String
end

"The glue refused the agent; `kind` is `:WRONG_TOKEN`, `:WRONG_VERSION`, `:WRONG_TLS`, `:BUSY` or `:REFUSED`."
struct Refused <: ReglueError
    kind::Symbol
    message::String
end

"The glue went away in mid-session."
struct SessionLost <: ReglueError
    message::String
end

function Base.showerror(io::IO, error::ReglueError)
    print(io, nameof(typeof(error)), ": ", error.message)
end
