# Binary features: which of a set of tiles an observation lies on. Tile coding as in Sutton & Barto 2018,
# "Reinforcement Learning: An Introduction", 2nd edition, section 9.5.4, pages 217 to 221.

"""
`tilings` grids of `tiles` to a side over numbers of `low` to `high`, each grid moved a little against
the others: in direction d tiling t by t/tilings times 1, 3, 5, … (page 220, after Miller and Glanz 1996).
"""
struct Tilings
    count::Int
    tiles::Int
    low::Vector{Float64}
    scale::Vector{Float64}  # tiles a unit
    moves::Matrix{Float64}  # (tilings, numbers), in tiles
end

function Tilings(low, high; tilings = 8, tiles = 8)
    moves = [t * (2d - 1) % tilings / tilings for t in 0:tilings-1, d in 1:length(low)]
    return Tilings(tilings, tiles, low, tiles ./ (high .- low), moves)
end

"How many features there are; they are numbered from 1."
Base.length(tilings::Tilings) = tilings.count * (tilings.tiles + 1)^length(tilings.low)

"One tile of each tiling, written to `active`; what lies out of bounds counts as on them."
function active!(active::Vector{Int}, tilings::Tilings, numbers::AbstractVector)
    cells = tilings.tiles + 1  # to a side: a grid that is moved needs one more
    for t in 1:tilings.count
        tile = t - 1
        for d in 1:length(numbers)
            place = clamp((numbers[d] - tilings.low[d]) * tilings.scale[d], 0.0, tilings.tiles)
            tile = tile * cells + floor(Int, place + tilings.moves[t, d])
        end
        active[t] = tile + 1
    end
    return active
end
