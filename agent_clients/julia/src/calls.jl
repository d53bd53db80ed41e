# The library's calls as values of this package.

const DTYPES = (Bool, UInt8, UInt16, UInt32, UInt64, Int8, Int16, Int32, Int64, Float32, Float64)

function task_spec(memory::Ptr{CSpec})
    spec = unsafe_load(memory)
    return TaskSpec(
        tensor_specs(spec.observations, spec.observation_count),
        tensor_specs(spec.actions, spec.action_count),
        (spec.reward_low, spec.reward_high),
        spec.discount,
        spec.horizon,
        spec.continuing != 0,
        spec.rewards_in_evaluation != 0,
        spec.slots,
        unsafe_string(spec.extra),
    )
end

tensor_specs(memory::Ptr{CTensor}, count) = TensorSpec[tensor_spec(unsafe_load(memory, i)) for i in 1:count]

function tensor_spec(tensor::CTensor)
    # Row-major there, column-major here: the axes reverse, and every element stays in place.
    shape = Tuple(Int.(reverse(copied(tensor.shape, tensor.axes))))
    return TensorSpec{DTYPES[tensor.dtype],length(shape)}(unsafe_string(tensor.name), shape, domain(tensor))
end

function domain(tensor::CTensor)
    tensor.domain == 1 && return Box(copied(tensor.low, tensor.lows), copied(tensor.high, tensor.highs))
    tensor.domain == 2 && return Discrete(unsafe_load(tensor.n), tensor.start)
    tensor.domain == 3 && return MultiDiscrete(copied(tensor.n, tensor.ns))
    return MultiBinary()
end

function turn(call::CCall, task::TypedSpec, is_shared::Bool)
    phase, goals = Phase(call.phase), task.goals
    return Turn(
        Ends(slots(call.end_slots, call.ends), copied(Ptr{EndKind}(call.end_kinds), call.ends), phase, goals),
        Steps(slots(call.step_slots, call.steps), copied(call.step_flags, call.steps), phase, goals),
        Starts(slots(call.start_slots, call.starts), copied(call.start_seeds, call.starts), phase, goals),
        copied(call.rewards, call.ends + call.steps),
        task,
        call.observations,
        call.actions,
        is_shared,
    )
end

function budget(call::CCall)
    left(i) = call.limited >> (i - 1) & 1 == 1 ? call.budget_us[i] : nothing
    return Budget(left(1), left(2), left(3), left(4))
end

"Slots as Julia counts them."
slots(memory::Ptr{UInt32}, count::Integer) = Int[Int(unsafe_load(memory, i)) + 1 for i in 1:count]

"A copy of small things, which an agent may keep."
copied(memory::Ptr{T}, count::Integer) where {T} = T[unsafe_load(memory, i) for i in 1:count]
