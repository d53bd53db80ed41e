# What an agent sees and does: TaskSpec, TensorSpec and their domains.

"""
    Box(low, high)

Bounds of each element, both inclusive, in the task's units. Either is a vector of no number
(unbounded), one (for every element), or one for each element, in the order in which the elements
lie in memory.
"""
struct Box
    low::Vector{Float64}
    high::Vector{Float64}
end

Box() = Box(Float64[], Float64[])
Box(low::Real, high::Real) = Box([low], [high])

"The integers `start`, 0 without it, to `start + n - 1`."
struct Discrete
    n::UInt64
    start::Int64
end

Discrete(n::Integer, start::Integer = 0) = Discrete(whole(UInt64, "n", n; least = 1), Int64(start))

"Element i takes the integers 0 to `n[i] - 1`, in the order in which the elements lie in memory."
struct MultiDiscrete
    n::Vector{UInt64}
end

MultiDiscrete(n::AbstractVector) = MultiDiscrete(UInt64[whole(UInt64, "n", each; least = 1) for each in n])

"Each element is 0 or 1."
struct MultiBinary end

const Domain = Union{Box,Discrete,MultiDiscrete,MultiBinary}

"""
    TensorSpec(name, T, size = (), domain = Box())

A named array whose rows have elements of type `T` and `N` axes, `size(spec)`.

The glue's arrays are row-major and Julia's are column-major, so the axes are in **reverse** order:
what the glue calls an image of `(height, width, channels)` has `size` `(channels, width, height)` here.
Many rows are an array with one more axis at the end, `(size..., rows)`: a row is a column.
"""
struct TensorSpec{T,N}
    name::String
    size::NTuple{N,Int}
    domain::Domain
end

TensorSpec(name::AbstractString, T::Type, size::Tuple = (), domain::Domain = Box()) =
    TensorSpec{T,length(size)}(name, size, domain)

Base.size(spec::TensorSpec) = spec.size
Base.length(spec::TensorSpec) = prod(spec.size)
Base.eltype(::TensorSpec{T}) where {T} = T

"""
    TaskSpec(observations, actions; reward_range = (-Inf, Inf), discount = 1.0, horizon = 0, continuing = false,
        rewards_in_evaluation = true, extra = "")

What every episode of a session promises; RL-Glue's task_specification. `observations` and `actions` are lists of
[`TensorSpec`](@ref). `extra` is what else the environment says of the task.
"""
struct TaskSpec
    observations::Vector{TensorSpec}
    actions::Vector{TensorSpec}
    reward_range::Tuple{Float64,Float64}  # of one step, task units
    discount::Float64
    horizon::Int  # steps to truncation; 0: no limit
    continuing::Bool  # one episode that goes on forever
    rewards_in_evaluation::Bool  # else NaN while the phase is EVALUATE
    slots::Int  # episodes played at once; slots are 1 to this
    extra::String  # what else the environment says of it
end

TaskSpec(
    observations,
    actions;
    reward_range = (-Inf, Inf),
    discount = 1.0,
    horizon = 0,
    continuing = false,
    rewards_in_evaluation = true,
    extra = "",
) = TaskSpec(
    TensorSpec[observations...],
    TensorSpec[actions...],
    reward_range,
    discount,
    horizon,
    continuing,
    rewards_in_evaluation,
    0,
    extra,
)

with_slots(spec::TaskSpec, slots) = TaskSpec(
    spec.observations,
    spec.actions,
    spec.reward_range,
    spec.discount,
    spec.horizon,
    spec.continuing,
    spec.rewards_in_evaluation,
    slots,
    spec.extra,
)
