# What needs no glue; tests/agent_clients/test_julia.py plays at one.
using Libdl
using Reglue
using Test

include("json.jl")
include("rng.jl")
include("tensors.jl")
include("goals.jl")
include("agent.jl")
include("library.jl")
