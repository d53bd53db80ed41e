# What routines return to a benchmark program, and checks of their arguments.

started(task, rows::CRows) = Started(slots(rows.slots, rows.count), observations_of(task, rows), actions_of(task, rows))

function stepped(task, rows::CRows)
    flags = copied(rows.flags, rows.count)
    has(bit) = BitVector(flags .& bit .!= 0)
    return Stepped(
        slots(rows.slots, rows.count),
        copied(rows.rewards, rows.count),
        observations_of(task, rows),
        has(0x01),
        has(0x02),
        has(0x04),
        actions_of(task, rows),
    )
end

observations_of(task::TypedSpec, rows::CRows) =
    Observations(task.observation_names, rows_at(task.observations, rows.observations, 0, rows.count))

actions_of(task::TypedSpec, rows::CRows) = rows.actions == C_NULL ? ChosenActions(String[], ()) :
    ChosenActions(task.action_names, rows_at(task.actions, rows.actions, 0, rows.count))

"Rows of one slot each, as rows of one array a tensor."
joined(parts::Vector{T}) where {T<:Tensors} =
    T(parts[1].names, ntuple(place -> joined([part.arrays[place] for part in parts]), length(parts[1])))

function joined(parts::Vector{Array{T,N}}) where {T,N}
    all = Array{T,N}(undef, size(parts[1])[1:end-1]..., length(parts))
    each = length(parts[1])
    for (i, part) in enumerate(parts)
        copyto!(all, (i - 1) * each + 1, part, 1, each)
    end
    return all
end

# Arguments. All throw RoutineRefused, before anything is sent.

checked_integer(T, what, number, least = 0, most = typemax(T)) = holds(T, number) && least <= number <= most ? T(number) :
    throw(RoutineRefused(:OUT_OF_DOMAIN, "$what $(repr(number))", "an integer from $least to $most"))

"A text, or a key, as the library reads it."
checked_text(text::AbstractString) = '\0' in text ? throw(RoutineRefused(:OUT_OF_DOMAIN, "a NUL in $(repr(text))",
    "a text without one")) : String(text)
checked_text(text) = throw(RoutineRefused(:OUT_OF_DOMAIN, repr(text), "a string"))

checked_task(::Nothing) = ""
checked_task(task::AbstractString) = checked_text(task)
checked_task(task) = throw(RoutineRefused(:OUT_OF_DOMAIN, "task $(repr(task))", "a string"))
checked_variant(variant) = checked_integer(UInt32, "variant", something(variant, 0))

checked_seed(seed) = checked_integer(UInt64, "seed", seed, 0, typemax(Int64))

"A slot as the protocol counts it."
checked_slot(slot) = checked_integer(UInt32, "slot", slot, 1) - UInt32(1)

checked_slots(slots) = UInt32[checked_slot(slot) for slot in slots]

function checked_rewards(rewards, rows)
    length(rewards) == rows ||
        throw(RoutineRefused(:WRONG_SIZE, "$(length(rewards)) rewards", "$rows, one for each of the slots"))
    return Float64[checked_number(Float64, "reward", reward) for reward in rewards]
end

# Before rl_init! there are no tensors, and the glue refuses the routine.
checked_actions(::Nothing, actions, rows) = ()
checked_observations(::Nothing, observations, rows) = ()
checked_actions(task::TypedSpec, actions, rows) = checked_arrays(task.actions, actions, rows)
checked_observations(task::TypedSpec, observations, rows) = checked_arrays(task.observations, observations, rows)

checked_arrays(specs::Tuple, one, rows) = checked_arrays(specs, Dict(specs[1].name => one), rows)

function checked_arrays(specs::Tuple, arrays::AbstractDict, rows)
    names, got = [spec.name for spec in specs], collect(keys(arrays))
    Set(got) == Set(names) ||
        throw(RoutineRefused(:WRONG_SIZE, "arrays for $(join(repr.(got), ", "))", "one for each of $(join(repr.(names), ", "))"))
    return map(spec -> checked_array(spec, arrays[spec.name], rows), specs)
end

function checked_array(spec::TensorSpec{T,N}, array, rows) where {T,N}
    wanted = (spec.size..., rows)
    array isa AbstractArray && size(array) == wanted || throw(RoutineRefused(
        :WRONG_SIZE,
        (array isa AbstractArray ? "an array of size $(size(array))" : repr(array)) * " for \"$(spec.name)\"",
        "an array of size $wanted, whose last axis is that of slots",
    ))
    array isa Array{T,N + 1} && return array
    return Array{T,N + 1}(map(number -> checked_number(T, "\"$(spec.name)\"", number), array))
end

checked_number(T, what, number) = holds(T, number) ? T(number) :
    throw(RoutineRefused(:OUT_OF_DOMAIN, "$(repr(number)) for $what", "numbers that are $T"))

"Where arrays lie, with a NULL after the last."
addresses(arrays::Tuple) = Ptr{Cvoid}[map(pointer, arrays)..., C_NULL]
