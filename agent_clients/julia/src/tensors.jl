# Rows of several tensors, by name. The arrays are Julia's own, unless the author asks for the library's memory.

# Named arrays, in the order of the TaskSpec. Their types are known to the compiler; `array` has them.
abstract type Tensors <: AbstractDict{String,AbstractArray} end

"""
    Observations <: AbstractDict{String,Array}

What the agent sees: `observations["name"]` is one array, `observations[]` the only one of a
task that has one. Each is `(size(spec)..., rows)` of the task's element type: the last axis is that of slots.

They are the agent's to keep, unless it asks for [`zero_copy`](@ref).
"""
struct Observations{A<:Tuple} <: Tensors
    names::Vector{String}
    arrays::A
end

"""
    ChosenActions <: AbstractDict{String,Array}

What the agent chose, to be read: arrays as in [`Observations`](@ref), for environments and benchmark programs.
"""
struct ChosenActions{A<:Tuple} <: Tensors
    names::Vector{String}
    arrays::A
end

"""
    Actions <: AbstractDict{String,Array}

What the agent does: arrays as in [`Observations`](@ref), zeros at first, for it to write into:
`actions[] .= …`, `actions["name"][:, i] = …`. `actions[] = …` writes into the array as well. `actions = …` does not:
it names something else, and a routine that never looks at its actions fails.
[`abandon!`](@ref) gives episodes up.
"""
mutable struct Actions{A<:Tuple} <: Tensors
    names::Vector{String}
    arrays::A
    abandoned::Vector{Int}  # slots, counted from 1
    are_used::Bool
end

"""
    ShownObservations <: AbstractDict{String,Array}

What an environment shows: arrays as in [`Observations`](@ref), zeros at first, to write as in [`Actions`](@ref).
"""
struct ShownObservations{A<:Tuple} <: Tensors
    names::Vector{String}
    arrays::A
end

const WrittenTensors = Union{Actions,ShownObservations}

Actions(names, arrays, abandoned) = Actions(names, arrays, abandoned, false)

"The array at a place, counted from 1."
array(tensors::Tensors, place) = tensors.arrays[place]

function array(actions::Actions, place)
    actions.are_used = true
    return actions.arrays[place]
end

Base.length(tensors::Tensors) = length(tensors.names)

function Base.iterate(tensors::Tensors, place = 1)
    place > length(tensors) && return nothing
    return Pair{String,AbstractArray}(tensors.names[place], array(tensors, place)), place + 1
end

place_of(tensors::Tensors, name::AbstractString) = findfirst(isequal(name), tensors.names)

function Base.get(tensors::Tensors, name::AbstractString, default)
    place = place_of(tensors, name)
    return place === nothing ? default : array(tensors, place)
end

function Base.getindex(tensors::Tensors, name::AbstractString)
    place = place_of(tensors, name)
    place === nothing && throw(UsageError("got [\"$name\"], wanted $(choices(tensors))"))
    return array(tensors, place)
end

function Base.getindex(tensors::Tensors)
    length(tensors) == 1 || throw(UsageError("got [], which is for one tensor, wanted $(choices(tensors))"))
    return array(tensors, 1)
end

choices(tensors) = join(("[\"$name\"]" for name in tensors.names), ", ", " or ")

# Both ways to write: tensors[…] = values, and tensors[…] .= values.

function Base.setindex!(tensors::WrittenTensors, values, name::AbstractString...)
    write!(Written(tensors, name...), values)
    return tensors
end

"Where values go: an array, and its name for an error."
struct Written{A<:AbstractArray}
    array::A
    name::String
end

Written(tensors::WrittenTensors) = Written(tensors[], only(tensors.names))
Written(tensors::WrittenTensors, name) = Written(tensors[name], String(name))

Base.Broadcast.dotview(tensors::WrittenTensors, name::AbstractString...) = Written(tensors, name...)
Base.Broadcast.materialize!(to::Written, values) = write!(to, values)
Base.Broadcast.materialize!(to::Written, values::Base.Broadcast.Broadcasted) = write!(to, values)

function write!(to, values)
    values = Base.Broadcast.broadcastable(values)
    got = map(length, axes(values))
    fits(got, size(to.array)) || throw(wrong_size(to, got))
    return Base.Broadcast.materialize!(to.array, Base.Broadcast.broadcasted(value -> element(to, value), values))
end

"The value as an element of the array. Throws UsageError."
function element(to, value)
    T = eltype(to.array)
    value isa T && return value
    holds(T, value) || throw(UsageError("got $(repr(value)) for \"$(to.name)\", wanted numbers that are $T"))
    return T(value)
end

"Whether values of that size broadcast to an array of the other."
fits(::Tuple{}, ::Tuple{}) = true
fits(::Tuple{}, ::Tuple) = true
fits(got::Tuple, ::Tuple{}) = all(isequal(1), got)
fits(got::Tuple, wanted::Tuple) =
    (got[1] == 1 || got[1] == wanted[1]) && fits(Base.tail(got), Base.tail(wanted))

wrong_size(to, got) = UsageError(
    "got values of size $got for \"$(to.name)\", wanted $(described(to.array)), whose last axis is that of " *
    "slots, or a size that broadcasts to it",
)

"Its size and type, for an error."
described(array) = "$(size(array)) of $(eltype(array))"

"""
Rows `first + 1` to `first + count` of the array at `memory`: a copy, unless `is_shared`; the array is then that memory,
and must not be used after it.
"""
function rows_at(spec::TensorSpec{T,N}, memory::Ptr{Cvoid}, first::Integer, count::Integer, is_shared = false) where {T,N}
    shape = (spec.size..., Int(count))
    from = row_at(spec, memory, first)
    is_shared && prod(shape) > 0 && return unsafe_wrap(Array, from, shape)
    rows = Array{T,N + 1}(undef, shape)
    GC.@preserve rows unsafe_copyto!(pointer(rows), from, length(rows))
    return rows
end

"The same rows of several arrays, one a tensor."
rows_at(::Tuple{}, memories::Ptr{Ptr{Cvoid}}, first::Integer, count::Integer, is_shared = false) = ()
rows_at(specs::Tuple, memories::Ptr{Ptr{Cvoid}}, first::Integer, count::Integer, is_shared = false) = (
    rows_at(specs[1], unsafe_load(memories), first, count, is_shared),
    rows_at(Base.tail(specs), memories + sizeof(Ptr{Cvoid}), first, count, is_shared)...,
)

row_at(spec::TensorSpec{T}, memory::Ptr{Cvoid}, first::Integer) where {T} =
    Ptr{T}(memory) + first * length(spec) * sizeof(T)

"Writes the arrays of [`rows_at`](@ref) back to the memory that they were read from. Throws UsageError for an array that was resized."
write_rows!(::Ptr{Ptr{Cvoid}}, first::Integer, count::Integer, ::Tuple{}, ::Tuple{}) = nothing
function write_rows!(memories::Ptr{Ptr{Cvoid}}, first::Integer, count::Integer, specs::Tuple, arrays::Tuple)
    spec, rows = specs[1], arrays[1]
    size(rows) == (spec.size..., count) || throw(UsageError(
        "got an array for \"$(spec.name)\" that was resized to $(size(rows)), wanted its original size, $((spec.size..., count))",
    ))
    GC.@preserve rows unsafe_copyto!(row_at(spec, unsafe_load(memories), first), pointer(rows), length(rows))
    return write_rows!(memories + sizeof(Ptr{Cvoid}), first, count, Base.tail(specs), Base.tail(arrays))
end
