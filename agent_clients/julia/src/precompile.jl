# What every session runs is compiled when the package is, so that less of it is at each start of a program.

"Routines, and the types of their arguments."
const AHEAD = Tuple{Any,Tuple}[
    (play, (Any, Handle, Base.RefValue{Bool})),
    (carry_out!, (Any, Handle, Ptr{Cvoid}, Any, Base.RefValue{Bool})),
    (answer!, (Agent, Handle, Ptr{Cvoid}, Any)),
    (answer!, (Environment, Handle, Ptr{Cvoid}, Any)),
    (answer_message!, (Any, Handle, String)),
    (init!, (Any, Handle, Int)),
    (routine!, (Any, Handle, CEnvironmentCall, Int)),
    (give_spec, (Handle, TaskSpec, Vector{Pair{String,Int}}, UInt32)),
    (task_spec, (Ptr{CSpec},)),
    (budget, (CCall,)),
    (open_handle, (String, Joining, UInt32, UInt32)),
    (close_handle, (Handle,)),
    (error_of, (Cint, String)),
]

# Turns of the usual tasks: a vector is seen, a number or a vector is done.
for seen in (Float64, Float32), done in (TensorSpec{Int64,0}, TensorSpec{Float64,1}, TensorSpec{Float32,1})
    task = TypedSpec{Tuple{TensorSpec{seen,1}},Tuple{done}}
    push!(AHEAD, (turn, (CCall, task)), (act!, (Any, Handle, Turn{task})), (turn!, (Agent, Turn{task})))
    push!(AHEAD, (play!, (Any, Handle, CEnvironmentCall, task)))
end

foreach(((routine, types),) -> precompile(routine, types), AHEAD)
