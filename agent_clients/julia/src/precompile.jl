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
    (rl_init!, (Experiment,)),
    (Core.kwfunc(rl_init!), (NamedTuple{(:slots, :seed),Tuple{Int,Int}}, typeof(rl_init!), Experiment)),
    (rl_agent_message, (Experiment, String)),
    (rl_env_message, (Experiment, String)),
    (rl_cleanup!, (Experiment,)),
    ((routine, (Experiment, Int)) for routine in (rl_return, rl_num_steps, rl_num_episodes, rl_episode!))...,
    ((routine, (Experiment, slots...)) for routine in (rl_start!, rl_step!), slots in ((), (Vector{Int},)))...,
]

# Turns of the usual tasks: a vector is seen, a number or a vector is done.
for seen in (Float64, Float32), (done, axes) in ((Int64, 0), (Float64, 1), (Float32, 1))
    task = TypedSpec{Tuple{TensorSpec{seen,1}},Tuple{TensorSpec{done,axes}}}
    usual = Turn{task,Observations{Tuple{Matrix{seen}}},Actions{Tuple{Array{done,axes + 1}}}}
    push!(AHEAD, (turn, (CCall, task, Bool)), (act!, (Any, Handle, CCall, usual)), (turn!, (Agent, usual)))
    push!(AHEAD, (play!, (Any, Handle, CEnvironmentCall, task)), (started, (task, CRows)), (stepped, (task, CRows)))
end

foreach(((routine, types),) -> precompile(routine, types), AHEAD)
