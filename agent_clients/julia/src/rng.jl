# Random numbers that are the same on every platform and in every language: Philox 4×64 words, numbered.
# agent_clients/python/reglue/rng.py has the rule in prose.

"""
    Rng(seed, episode = 0; drawn = 0)

The random numbers of one episode, drawn one after another by [`word!`](@ref), [`uniform!`](@ref) and
[`below!`](@ref). The first `drawn` words are skipped.

It is an `AbstractRNG`: `rand(rng, 1:6)`, `randn(rng)` and `Random.shuffle(rng, list)` take it, though what they
make of its words is Julia's, and may differ between versions. `rand(rng)` is `uniform!(rng)`.
"""
mutable struct Rng <: AbstractRNG
    seed::UInt64
    episode::UInt64
    drawn::UInt64
    block::NTuple{4,UInt64}  # that the last word was of

    function Rng(seed::Integer, episode::Integer = 0; drawn::Integer = 0)
        rng = new(whole(UInt64, "seed", seed), whole(UInt64, "episode", episode), whole(UInt64, "drawn", drawn))
        rng.block = block_of(rng)
        return rng
    end
end

"""
    word!(rng) -> UInt64

64 random bits.
"""
function word!(rng::Rng)
    place = rng.drawn % 4
    place == 0 && (rng.block = block_of(rng))
    rng.drawn += 1
    return rng.block[place + 1]
end

"""
    uniform!(rng, low = 0.0, high = 1.0) -> Float64

A number from `low` to `high`; `high` itself only by rounding.
"""
function uniform!(rng::Rng, low::Real = 0.0, high::Real = 1.0)
    low, high = Float64(low), Float64(high)
    return low + (high - low) * ((word!(rng) >> 11) * 2.0^-53)
end

"""
    below!(rng, n) -> UInt64

A whole number of 0 to `n - 1`, each as likely; `n` is 1 to 2^64, else UsageError.

Lemire 2019, "Fast random integer generation in an interval".
"""
function below!(rng::Rng, n::Integer)
    1 <= n <= UInt128(2)^64 || throw(UsageError("got n $n, wanted 1 to 2^64"))
    n == UInt128(2)^64 && return word!(rng)
    few = UInt64(n)
    rejected = (0 - few) % few  # 2^64 mod n
    product = widemul(word!(rng), few)
    while product % UInt64 < rejected
        product = widemul(word!(rng), few)
    end
    return (product >> 64) % UInt64
end

# What the functions of Random build upon, as its documentation asks of a new generator.

const Words = Union{Bool,Int8,UInt8,Int16,UInt16,Int32,UInt32,Int64,UInt64}

Random.rand(rng::Rng, ::Random.SamplerType{T}) where {T<:Words} = word!(rng) % T
Random.rand(rng::Rng, ::Random.SamplerType{T}) where {T<:Union{Int128,UInt128}} =
    (word!(rng) | UInt128(word!(rng)) << 64) % T
Random.rand(rng::Rng, ::Random.SamplerTrivial{Random.CloseOpen01{Float64}}) = uniform!(rng)
Random.rng_native_52(::Rng) = UInt64

block_of(rng::Rng) = philox((rng.drawn ÷ 4, rng.episode, UInt64(0), UInt64(0)), (rng.seed, UInt64(0)))

# One block with 10 rounds, words least first. Salmon et al. 2011, "Parallel random numbers: as easy as
# 1, 2, 3", section 3.3.
function philox(counter::NTuple{4,UInt64}, key::NTuple{2,UInt64})
    for _ in 1:10
        first = widemul(0xD2E7470EE14C6C93, counter[1])
        second = widemul(0xCA5A826395121157, counter[3])
        counter = (
            (second >> 64) % UInt64 ⊻ counter[2] ⊻ key[1],
            second % UInt64,
            (first >> 64) % UInt64 ⊻ counter[4] ⊻ key[2],
            first % UInt64,
        )
        key = (key[1] + 0x9E3779B97F4A7C15, key[2] + 0xBB67AE8584CAA73B)
    end
    return counter
end
