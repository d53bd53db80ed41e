# An environment: mountain car, whose engine is weaker than gravity. Sutton & Barto 2018, "Reinforcement Learning: An
# Introduction", 2nd edition, example 10.1, pages 244 to 246. To the bit it is the built-in mountain-car.
#
#     reglue bench online:wait --agent sarsa --listen 127.0.0.1:4096 --token SECRET
#     REGLUE_ADDRESS=127.0.0.1:4096 REGLUE_TOKEN=SECRET julia --project=. examples/mountain_car.jl

using Reglue

const LEFT, GOAL = -1.2, 0.5  # positions; the valley's bottom is at -π/6
const FASTEST = 0.07  # position a step, either way
const ENGINE, GRAVITY = 0.001, 0.0025

struct MountainCar <: Environment
    cars::Dict{Int,Vector{Float64}}  # by slot: position, velocity
end

Reglue.tasks(::MountainCar) = ["mountain-car" => 1]

Reglue.env_init!(::MountainCar, slots) = TaskSpec(
    [TensorSpec("observation", Float64, (2,), Box([LEFT, -FASTEST], [GOAL, FASTEST]))],
    [TensorSpec("action", Int64, (), Discrete(3))];  # full throttle reverse, none, full throttle forward
    reward_range = (-1.0, -1.0),
)

"At rest, somewhere near the bottom."
function Reglue.env_start!(environment::MountainCar, begun, cells)
    for (row, slot) in enumerate(cells.slots)
        rng = Rng(cells.cells[row].seed, cells.cells[row].repeat)
        environment.cars[slot] = [uniform!(rng, -0.6, -0.4), 0.0]
        begun.observations[][:, row] = environment.cars[slot]
    end
end

"Each step costs 1, including the one that reaches the goal."
function Reglue.env_step!(environment::MountainCar, earned, actions, slots)
    for (row, slot) in enumerate(slots)
        car = move!(environment.cars[slot], actions[][row])
        earned.rewards[row] = -1
        earned.observations[][:, row] = car
        earned.terminated[row] = earned.success[row] = car[1] == GOAL
    end
end

"The book's two equations; the left wall stops the car."
function move!(car, action)
    pull = ENGINE * (action - 1) - GRAVITY * cosine_of_triple(car[1])
    velocity = clamp(car[2] + pull, -FASTEST, FASTEST)
    position = clamp(car[1] + velocity, LEFT, GOAL)
    car .= (position, position == LEFT ? 0.0 : velocity)
end

"cos(3 × angle) with the same bits on every platform: Taylor's series, and cos 3a = 4 cos³ a - 3 cos a."
function cosine_of_triple(angle)
    square, cosine = angle * angle, 1.0
    for degree in 18:-2:2
        cosine = 1.0 - cosine * square / (degree * (degree - 1))
    end
    return cosine * (4.0 * cosine * cosine - 3.0)
end

abspath(PROGRAM_FILE) == @__FILE__() && Reglue.main(MountainCar(Dict()))
