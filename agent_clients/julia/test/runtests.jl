# What needs no glue; tests/agent_clients/test_julia.py plays at one.
using Libdl
using Random
using Reglue
using Test

"What the error of that type says."
words(thrown, attempt) = try
    attempt()
    "nothing was thrown"
catch error
    error isa thrown ? error.message : rethrow()
end

include("json.jl")
include("rng.jl")
include("tensors.jl")
include("goals.jl")
include("agent.jl")
include("episodes.jl")
include("environment.jl")
include("rows.jl")
include("library.jl")
include("reinforce.jl")
