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
    UInt32(16) * !tells_success(environment) |
    UInt32(32) * whole_turns(environment) |
    UInt32(64) * !repeatable(environment)

"Returns the task."
function answer!(@nospecialize(environment::Environment), handle, memory::Ptr{Cvoid}, @nospecialize(task))
    call = unsafe_load(Ptr{CEnvironmentCall}(memory))
    if call.kind == ENV_PLAY
        play!(environment, handle, call, task)
        return task
    end
    try
        call.kind == ENV_INIT && return init!(environment, handle, Int(call.slots))
        routine!(environment, handle, call, Int(call.slot) + 1)
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
function routine!(@nospecialize(environment), handle, call::CEnvironmentCall, slot)
    call.kind == ENV_GET_STATE && return keep(handle, env_get_state(environment, slot))
    call.kind == ENV_SET_STATE && return env_set_state!(environment, slot, snapshot_bytes(call))
    call.kind == ENV_GET_RANDOM_SEED && return keep(handle, env_get_random_seed(environment, slot))
    call.kind == ENV_SET_RANDOM_SEED && return env_set_random_seed!(environment, slot, snapshot_bytes(call))
    call.kind == ENV_STANDARDIZE && return env_standardize_randomness!(environment, call.seed)
    call.kind == ENV_CLEANUP && return env_cleanup!(environment)
    if call.kind == ENV_MESSAGE
        answer = text_of("the answer of env_message", env_message(environment, unsafe_string(call.text)))
        check(handle, @gc_safe ccall(symbol(:reglue_environment_answer), Cint, (Ptr{Cvoid}, Cstring), handle, answer))
    end
end

snapshot_bytes(call::CEnvironmentCall) = copied(Ptr{UInt8}(call.snapshot), call.snapshot_bytes)

function keep(handle, bytes)
    bytes = Vector{UInt8}(bytes)
    check(handle, @gc_safe ccall(symbol(:reglue_environment_snapshot), Cint, (Ptr{Cvoid}, Ptr{UInt8}, Csize_t),
        handle, bytes, length(bytes)))
end

const OF_ENVIRONMENTS = (:OUT_OF_ORDER, :UNKNOWN_KEY, :NOT_SUPPORTED, :OUT_OF_DOMAIN)

function refuse!(handle, refused::RoutineRefused)
    refused.code in OF_ENVIRONMENTS || throw(UsageError(
        "got RoutineRefused(:$(refused.code), …) from the environment, wanted one of $OF_ENVIRONMENTS: $(refused.message)",
    ))
    code = 29 + findfirst(isequal(refused.code), REFUSALS)  # REGLUE_WRONG_SIZE is 30
    check(handle, @gc_safe ccall(symbol(:reglue_environment_refuse), Cint, (Ptr{Cvoid}, Cint, Cstring, Cstring),
        handle, code, shift_slots(refused.got, REFUSED_SLOTS, -1), shift_slots(refused.wanted, REFUSED_SLOTS, -1)))
end

"Steps, then starts. What the environment throws fails all slots of the exchange; the session goes on."
function play!(@nospecialize(environment), handle, call::CEnvironmentCall, task::TypedSpec)
    stepping, starting = slots(call.step_slots, call.steps), slots(call.start_slots, call.starts)
    faults = Dict{Int,String}()
    try
        isempty(stepping) || step!(environment, call, task, stepping, faults)
        isempty(starting) || start!(environment, call, task, starting, faults)
        check_faults(faults, [stepping; starting])
    catch error
        error isa InterruptException && rethrow()
        empty!(faults)
        println(stderr, "reglue: the environment failed: ", sprint(showerror, error, catch_backtrace()))
        what = one_line(error)
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

function step!(@nospecialize(environment), call, task::TypedSpec, slots, faults)
    many = length(slots)
    is_shared = zero_copy(environment)
    observations = ShownObservations(task.observation_names, rows_at(task.observations, call.observations, 0, many, is_shared))
    earned = Earned(zeros(many), fill(false, many), fill(false, many), fill(false, many), observations, faults)
    actions = ChosenActions(task.action_names, rows_at(task.actions, call.actions, 0, many, is_shared))
    env_step!(environment, earned, actions, slots)
    write_rows!(call.observations, 0, many, task.observations, observations.arrays)
    for i in 1:many
        unsafe_store!(call.rewards, earned.rewards[i], i)
        flags = earned.terminated[i] | earned.truncated[i] << 1 | earned.success[i] << 2
        unsafe_store!(call.flags, flags % UInt8, i)
    end
end

function start!(@nospecialize(environment), call, task::TypedSpec, slots, faults)
    arrays = rows_at(task.observations, call.observations, call.steps, call.starts, zero_copy(environment))
    begun = Begun(ShownObservations(task.observation_names, arrays), faults)
    cells = Cell[cell(unsafe_load(call.cells, i)) for i in 1:call.starts]
    env_start!(environment, begun, Cells(slots, cells))
    write_rows!(call.observations, call.steps, call.starts, task.observations, arrays)
end

cell(from::CCell) =
    Cell(unsafe_string(from.task), from.variant, from.seed, from.repeat, Phase(from.phase), from.steps)

# A spec as the library reads it.

function give_spec(handle, spec::TaskSpec, tasks, offers)
    roots = Any[]  # what pointers point to
    observations, actions = c_tensors(spec.observations, roots), c_tensors(spec.actions, roots)
    names = String[text_of("a task's name", name) for (name, _) in tasks]
    variants = UInt32[whole(UInt32, "variants", many; least = 1) for (_, many) in tasks]
    extra = text_of("extra", spec.extra)
    GC.@preserve roots observations actions names extra begin
        c_spec = CSpec(
            pointer(observations), pointer(actions), length(observations), length(actions), spec.reward_range...,
            spec.discount, whole(UInt32, "horizon", spec.horizon), 0, spec.continuing, spec.rewards_in_evaluation,
            c_text(extra),
        )
        offered = CTask[CTask(c_text(name), many, 0) for (name, many) in zip(names, variants)]
        check(handle, @gc_safe ccall(symbol(:reglue_environment_ready), Cint,
            (Ptr{Cvoid}, Ref{CSpec}, Ptr{CTask}, Csize_t, UInt32), handle, c_spec, offered, length(offered), offers))
    end
end

c_tensors(specs, roots) = CTensor[c_tensor(spec, roots) for spec in specs]

function c_tensor(spec::TensorSpec, roots)
    dtype = findfirst(isequal(eltype(spec)), DTYPES)
    dtype === nothing && throw(UsageError("got elements of $(eltype(spec)) for \"$(spec.name)\", wanted one of $DTYPES"))
    name, shape = text_of("a tensor's name", spec.name), UInt32[whole(UInt32, "size", each) for each in reverse(size(spec))]
    kind, low, high, n, start = parts(spec.domain)
    push!(roots, name, shape, low, high, n)
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
