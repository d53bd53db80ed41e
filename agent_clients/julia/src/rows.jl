# Rows of a benchmark program: what routines return, and what they are given.

started(task, rows::CRows) = Started(slots(rows.slots, rows.count), shown(task, rows), chosen(task, rows))

function stepped(task, rows::CRows)
    flags = kept(rows.flags, rows.count)
    has(bit) = BitVector(flags .& bit .!= 0)
    return Stepped(
        slots(rows.slots, rows.count),
        kept(rows.rewards, rows.count),
        shown(task, rows),
        has(0x01),
        has(0x02),
        has(0x04),
        chosen(task, rows),
    )
end

shown(task::TypedSpec, rows::CRows) =
    Observations(task.observation_names, rows_at(task.observations, rows.observations, 0, rows.count))

chosen(task::TypedSpec, rows::CRows) = rows.actions == C_NULL ? ChosenActions(String[], ()) :
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

# What a program gives. All throw RoutineRefused, before anything is sent.

given(T, what, number, least = 0, most = typemax(T)) = holds(T, number) && least <= number <= most ? T(number) :
    throw(RoutineRefused(:OUT_OF_DOMAIN, "$what $(repr(number))", "an integer from $least to $most"))

"A text, or a key, as the library reads it."
given_text(text::AbstractString) = '\0' in text ? throw(RoutineRefused(:OUT_OF_DOMAIN, "a NUL in $(repr(text))",
    "a text without one")) : String(text)

given_seed(seed) = given(UInt64, "seed", seed, 0, typemax(Int64))

"A slot as the protocol counts it."
given_slot(slot) = given(UInt32, "slot", slot, 1) - UInt32(1)

given_slots(slots) = UInt32[given_slot(slot) for slot in slots]

function given_rewards(rewards, rows)
    length(rewards) == rows ||
        throw(RoutineRefused(:WRONG_SIZE, "$(length(rewards)) rewards", "$rows, one for each of the slots"))
    return Float64[given_number(Float64, "reward", reward) for reward in rewards]
end

# Before rl_init! there are no tensors, and the glue refuses the routine.
given_actions(::Nothing, actions, rows) = ()
given_observations(::Nothing, observations, rows) = ()
given_actions(task::TypedSpec, actions, rows) = given_arrays(task.actions, actions, rows)
given_observations(task::TypedSpec, observations, rows) = given_arrays(task.observations, observations, rows)

given_arrays(specs::Tuple, one, rows) = given_arrays(specs, Dict(specs[1].name => one), rows)

function given_arrays(specs::Tuple, arrays::AbstractDict, rows)
    names, got = [spec.name for spec in specs], collect(keys(arrays))
    Set(got) == Set(names) ||
        throw(RoutineRefused(:WRONG_SIZE, "arrays for $(join(repr.(got), ", "))", "one for each of $(join(repr.(names), ", "))"))
    return map(spec -> given_array(spec, arrays[spec.name], rows), specs)
end

function given_array(spec::TensorSpec{T,N}, array, rows) where {T,N}
    wanted = (spec.size..., rows)
    array isa AbstractArray && size(array) == wanted || throw(RoutineRefused(
        :WRONG_SIZE,
        (array isa AbstractArray ? "an array of size $(size(array))" : repr(array)) * " for \"$(spec.name)\"",
        "an array of size $wanted, whose last axis is that of slots",
    ))
    array isa Array{T,N + 1} && return array
    return Array{T,N + 1}(map(number -> given_number(T, "\"$(spec.name)\"", number), array))
end

given_number(T, what, number) = holds(T, number) ? T(number) :
    throw(RoutineRefused(:OUT_OF_DOMAIN, "$(repr(number)) for $what", "numbers that are $T"))

"Where arrays lie, with a NULL after the last."
addresses(arrays::Tuple) = Ptr{Cvoid}[map(pointer, arrays)..., C_NULL]
