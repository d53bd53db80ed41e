# Rows of several tensors, by name. The arrays are the library's memory: nothing is copied.

# Named arrays, in the order of the TaskSpec.
abstract type Tensors <: AbstractDict{String,Array} end

"""
What the agent sees, an `AbstractDict`: `observations["name"]` is one array, `observations[]` the only one of a
task that has one. Each is `(size(spec)..., rows)` of the task's element type: the last axis is that of slots.

They are the library's memory and last until the routine that was given them returns: `copy` what is to be kept.
"""
struct Observations <: Tensors
    names::Vector{String}
    arrays::Vector{Array}
end

"""
What the agent does: arrays as in [`Observations`](@ref), zeros at first, for it to write into:
`actions[] .= …`, `actions["name"][:, i] = …`. `actions[] = …` writes into the array as well.
[`abandon!`](@ref) gives episodes up.
"""
struct Actions <: Tensors
    names::Vector{String}
    arrays::Vector{Array}
    abandoned::Vector{UInt32}  # slots as the protocol counts them
end

Base.length(tensors::Tensors) = length(tensors.names)

function Base.iterate(tensors::Tensors, place = 1)
    place > length(tensors) && return nothing
    return tensors.names[place] => tensors.arrays[place], place + 1
end

function Base.get(tensors::Tensors, name::AbstractString, default)
    place = findfirst(isequal(name), tensors.names)
    return place === nothing ? default : tensors.arrays[place]
end

function Base.getindex(tensors::Tensors)
    length(tensors) == 1 && return tensors.arrays[1]
    throw(UsageError("got tensors[], wanted one of tensors[name]: $(join(tensors.names, ", "))"))
end

Base.setindex!(actions::Actions, values, name...) = (getindex(actions, name...) .= values; actions)

"Rows `first + 1` to `first + count` of the array at `memory`."
function rows_at(spec::TensorSpec{T,N}, memory::Ptr{Cvoid}, first::Integer, count::Integer) where {T,N}
    shape = (spec.size..., Int(count))
    prod(shape) == 0 && return Array{T,N + 1}(undef, shape)
    return unsafe_wrap(Array, Ptr{T}(memory) + first * length(spec) * sizeof(T), shape)
end

function rows_at(specs::Vector{TensorSpec}, memories::Ptr{Ptr{Cvoid}}, first::Integer, count::Integer)
    return Array[rows_at(spec, unsafe_load(memories, i), first, count) for (i, spec) in enumerate(specs)]
end
