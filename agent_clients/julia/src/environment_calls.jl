# Which routine of an environment answers which call.

prefix(::Environment) = "reglue_environment_"
role(::Environment) = "environment"

abilities(::Environment) = UInt32(0)  # it says what it offers when it is ready

"What it offers beside its tasks: bits of enum reglue_offer."
offers(environment::T) where {T<:Environment} =
    UInt32(1) * hasmethod(env_get_state, Tuple{T,Int}) |
    UInt32(2) * portable(environment) |
    UInt32(4) * hasmethod(env_get_random_seed, Tuple{T,Int}) |
    UInt32(8) * hasmethod(env_standardize_randomness!, Tuple{T,UInt64}) |
    UInt32(16) * !tells_success(environment)

"Returns the task."
function answer!(@nospecialize(environment::Environment), handle, call::Ptr{Cvoid}, @nospecialize(task))
    told = unsafe_load(Ptr{CEnvironmentCall}(call))
    if told.kind == ENV_PLAY
        play!(environment, handle, told, task)
        return task
    end
    try
        told.kind == ENV_INIT && return init!(environment, handle, Int(told.slots))
        routine!(environment, handle, told, Int(told.slot) + 1)
    catch error
        error isa RoutineRefused || rethrow()
        refuse!(handle, error)
    end
    return task
end

function init!(@nospecialize(environment), handle, slots)
    spec = env_init!(environment, slots)
    spec isa TaskSpec || throw(UsageError("got $(typeof(spec)) from env_init!, wanted a TaskSpec"))
    give_spec(handle, spec, tasks(environment), offers(environment))
    return TypedSpec(with_slots(spec, slots))
end

"The next `reglue_environment_next` answers routines that return nothing."
function routine!(@nospecialize(environment), handle, told::CEnvironmentCall, slot)
    told.kind == ENV_GET_STATE && return keep(handle, env_get_state(environment, slot))
    told.kind == ENV_SET_STATE && return env_set_state!(environment, slot, kept_bytes(told))
    told.kind == ENV_GET_RANDOM_SEED && return keep(handle, env_get_random_seed(environment, slot))
    told.kind == ENV_SET_RANDOM_SEED && return env_set_random_seed!(environment, slot, kept_bytes(told))
    told.kind == ENV_STANDARDIZE && return env_standardize_randomness!(environment, told.seed)
    told.kind == ENV_CLEANUP && return env_cleanup!(environment)
    if told.kind == ENV_MESSAGE
        answer = text_of("the answer of env_message", env_message(environment, unsafe_string(told.text)))
        check(handle, @gc_safe ccall(symbol(:reglue_environment_answer), Cint, (Ptr{Cvoid}, Cstring), handle, answer))
    end
end

kept_bytes(told::CEnvironmentCall) = kept(Ptr{UInt8}(told.kept), told.kept_bytes)

function keep(handle, bytes)
    bytes = Vector{UInt8}(bytes)
    check(handle, @gc_safe ccall(symbol(:reglue_environment_keep), Cint, (Ptr{Cvoid}, Ptr{UInt8}, Csize_t),
        handle, bytes, length(bytes)))
end

const OF_ENVIRONMENTS = (:OUT_OF_ORDER, :UNKNOWN_KEY, :NOT_SUPPORTED, :OUT_OF_DOMAIN)

function refuse!(handle, refused::RoutineRefused)
    refused.kind in OF_ENVIRONMENTS || throw(UsageError(
        "got RoutineRefused(:$(refused.kind), …) from the environment, wanted one of $OF_ENVIRONMENTS: $(refused.message)",
    ))
    code = 29 + findfirst(isequal(refused.kind), REFUSALS)  # REGLUE_WRONG_SIZE is 30
    check(handle, @gc_safe ccall(symbol(:reglue_environment_refuse), Cint, (Ptr{Cvoid}, Cint, Cstring, Cstring),
        handle, code, refused.got, refused.wanted))
end

"Steps, then starts. What the environment throws fails all slots of the exchange; the session goes on."
function play!(@nospecialize(environment), handle, told::CEnvironmentCall, task::TypedSpec)
    stepping, starting = slots(told.step_slots, told.steps), slots(told.start_slots, told.starts)
    faults = Dict{Int,String}()
    try
        isempty(stepping) || step!(environment, told, task, stepping, faults)
        isempty(starting) || start!(environment, told, task, starting, faults)
        check_faults(faults, [stepping; starting])
    catch error
        error isa InterruptException && rethrow()
        empty!(faults)
        what = sprint(showerror, error, catch_backtrace())
        println(stderr, "reglue: the environment failed: ", what)
        foreach(slot -> faults[slot] = what, stepping)
        foreach(slot -> faults[slot] = what, starting)
    end
    for (slot, what) in faults
        what = replace(what, '\0' => '?')
        check(handle, @gc_safe ccall(symbol(:reglue_environment_fault_slot), Cint, (Ptr{Cvoid}, UInt32, Cstring),
            handle, slot - 1, what))
    end
    check(handle, @gc_safe ccall(symbol(:reglue_environment_played), Cint, (Ptr{Cvoid},), handle))
end

function check_faults(faults, slots)
    for slot in keys(faults)
        slot in slots || throw(UsageError("got slot $slot in fault!, wanted one of the exchange: " * join(slots, ", ")))
    end
end

function step!(@nospecialize(environment), told, task::TypedSpec, slots, faults)
    many = length(slots)
    is_shared = zero_copy(environment)
    shown = ShownObservations(task.observation_names, rows_at(task.observations, told.observations, 0, many, is_shared))
    earned = Earned(zeros(many), fill(false, many), fill(false, many), fill(false, many), shown, faults)
    actions = ChosenActions(task.action_names, rows_at(task.actions, told.actions, 0, many, is_shared))
    env_step!(environment, earned, actions, slots)
    write_rows!(told.observations, 0, many, task.observations, shown.arrays)
    for i in 1:many
        unsafe_store!(told.rewards, earned.rewards[i], i)
        flags = earned.terminated[i] | earned.truncated[i] << 1 | earned.success[i] << 2
        unsafe_store!(told.flags, flags % UInt8, i)
    end
end

function start!(@nospecialize(environment), told, task::TypedSpec, slots, faults)
    shown = rows_at(task.observations, told.observations, told.steps, told.starts, zero_copy(environment))
    begun = Begun(ShownObservations(task.observation_names, shown), faults)
    cells = Cell[cell(unsafe_load(told.cells, i)) for i in 1:told.starts]
    env_start!(environment, begun, Cells(slots, cells))
    write_rows!(told.observations, told.steps, told.starts, task.observations, shown)
end

cell(told::CCell) =
    Cell(unsafe_string(told.task), told.variant, told.seed, told.repeat, Phase(told.phase), told.steps)

# A spec as the library reads it.

function give_spec(handle, spec::TaskSpec, tasks, offers)
    kept = Any[]  # what pointers point to
    observations, actions = c_tensors(spec.observations, kept), c_tensors(spec.actions, kept)
    names = String[text_of("a task's name", name) for (name, _) in tasks]
    variants = UInt32[whole(UInt32, "variants", many; least = 1) for (_, many) in tasks]
    extra = text_of("extra", spec.extra)
    GC.@preserve kept observations actions names extra begin
        told = CSpec(
            pointer(observations), pointer(actions), length(observations), length(actions), spec.reward_range...,
            spec.discount, whole(UInt32, "horizon", spec.horizon), 0, spec.continuing, spec.rewards_in_evaluation,
            c_text(extra),
        )
        offered = CTask[CTask(c_text(name), many, 0) for (name, many) in zip(names, variants)]
        check(handle, @gc_safe ccall(symbol(:reglue_environment_ready), Cint,
            (Ptr{Cvoid}, Ref{CSpec}, Ptr{CTask}, Csize_t, UInt32), handle, told, offered, length(offered), offers))
    end
end

c_tensors(specs, kept) = CTensor[c_tensor(spec, kept) for spec in specs]

function c_tensor(spec::TensorSpec, kept)
    dtype = findfirst(isequal(eltype(spec)), DTYPES)
    dtype === nothing && throw(UsageError("got elements of $(eltype(spec)) for \"$(spec.name)\", wanted one of $DTYPES"))
    name, shape = text_of("a tensor's name", spec.name), UInt32[whole(UInt32, "size", each) for each in reverse(size(spec))]
    kind, low, high, n, start = parts(spec.domain)
    push!(kept, name, shape, low, high, n)
    return CTensor(
        c_text(name), pointer(shape), length(shape), dtype, kind, 0, 0, 0,
        pointer(low), length(low), pointer(high), length(high), pointer(n), length(n), start,
    )
end

"A domain's kind, lows, highs, numbers and start."
parts(box::Box) = (1, box.low, box.high, UInt64[], 0)
parts(discrete::Discrete) = (2, Float64[], Float64[], [discrete.n], discrete.start)
parts(many::MultiDiscrete) = (3, Float64[], Float64[], many.n, 0)
parts(::MultiBinary) = (4, Float64[], Float64[], UInt64[], 0)
