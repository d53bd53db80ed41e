# The rule of the conformance programs: bytes go in, elements of tensors come out.
# proto/CONFORMANCE.md has it in prose. All of it wraps around at 2^32.

const START = 0x811c9dc5  # a memory that has taken in nothing

"`memory` after taking in the bytes of a number."
function take(memory::UInt32, number::T) where {T<:Union{UInt8,UInt64,Float64}}
    bits = T === Float64 ? reinterpret(UInt64, number) : number
    for i in 0:sizeof(T)-1
        memory = memory * 0x01000193 + (bits >> 8i) % UInt8
    end
    return memory
end

"`memory` after taking in the bytes of row `row` of an array, whose last axis is that of rows."
take(memory::UInt32, array::Array, row::Integer) = take_bytes(memory, row_of(array, row))

function take_bytes(memory::UInt32, elements::AbstractVector)
    for byte in reinterpret(UInt8, elements)
        memory = memory * 0x01000193 + byte
    end
    return memory
end

"A row as a vector, in the order in which its elements lie in memory."
function row_of(array::Array, row::Integer)
    size_of_row = length(array) ÷ size(array, ndims(array))
    return view(vec(array), (row-1)*size_of_row+1:row*size_of_row)
end

function draw(memory::UInt32, number::UInt32)
    z = memory + number * 0x9e3779b9
    z = (z ⊻ (z >> 16)) * 0x85ebca6b
    z = (z ⊻ (z >> 13)) * 0xc2b2ae35
    return z ⊻ (z >> 16)
end

"Write what `memory` makes of the tensors to row `row` of each array."
function make_row!(arrays, specs, memory::UInt32, row::Integer)
    first = 0
    for (array, spec) in zip(arrays, specs)
        length(spec) > 0 && make_elements!(row_of(array, row), spec.domain, memory, first)
        first += length(spec)
    end
end

function make_elements!(elements, domain, memory::UInt32, first::Integer)
    kind = domain isa Box && !is_bounded(domain) ? Unbounded() : domain
    fill_elements!(elements, kind, memory, first)
end

function fill_elements!(elements, kind, memory::UInt32, first::Integer)
    for i in eachindex(elements)
        number = UInt32(2 * (first + i - 1))
        elements[i] = element(eltype(elements), kind, i, draw(memory, number), draw(memory, number + UInt32(1)))
    end
end

"A Box of which not all bounds are finite."
struct Unbounded end

wide(a::UInt32, b::UInt32) = UInt64(a) + UInt64(b) << 32

element(::Type{T}, ::MultiBinary, i, a, b) where {T} = T(a % 2)
element(::Type{T}, d::Discrete, i, a, b) where {T} = (d.start % UInt64 + wide(a, b) % d.n) % T
element(::Type{T}, d::MultiDiscrete, i, a, b) where {T} = (wide(a, b) % d.n[i]) % T
element(::Type{Bool}, ::Union{Box,Unbounded}, i, a, b) = Bool(a % 2)
element(::Type{T}, ::Union{Box,Unbounded}, i, a, b) where {T<:Integer} = wide(a, b) % T
element(::Type{T}, ::Unbounded, i, a, b) where {T<:AbstractFloat} = T((Float64(a) - 2.0^31) + (b % 2^21) / 2.0^21)

function element(::Type{T}, box::Box, i, a, b) where {T<:AbstractFloat}
    low, high = bound(box.low, i), bound(box.high, i)
    return T(low + (high - low) * ((a % 257) / 256.0))
end

is_bounded(box::Box) = all(bounds -> !isempty(bounds) && all(isfinite, bounds), (box.low, box.high))

bound(bounds, i) = length(bounds) == 1 ? bounds[1] : bounds[i]
