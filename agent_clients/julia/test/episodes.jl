# Agents that are written for one episode.

struct Acting{F} <: EpisodeAgent
    act!::F  # in every step, on the action
    episodes::Dict{Int,Nothing}
end

Acting(act!) = Acting(act!, Dict{Int,Nothing}(2 => nothing))

Reglue.new_episode(::Acting, seed) = nothing
Reglue.episode_start!(::Nothing, agent::Acting, action, observation) = agent.act!(action)
Reglue.episode_step!(::Nothing, agent::Acting, action, reward, observation) = agent.act!(action)

"The columns of actions for two slots that start and one that goes on."
function played(act!, actions...)
    spec = TaskSpec([TensorSpec("seen", Float64)], [actions...])
    task, done = Reglue.TypedSpec(Reglue.with_slots(spec, 3)), [zeros(eltype(each), size(each)..., 3) for each in actions]
    seen = [[1.0, 2.0, 3.0]]
    rows = [Ptr{Cvoid}[pointer(array) for array in arrays] for arrays in (seen, done)]
    GC.@preserve seen done rows begin
        steps, starts = Steps([2], [0x00], TRAIN, task.goals), Starts([1, 3], UInt64[7, 8], TRAIN, task.goals)
        ends = Ends(Int[], EndKind[], TRAIN, task.goals)
        turn = Reglue.Turn(ends, steps, starts, [0.5], task, pointer(rows[1]), pointer(rows[2]))
        turn!(Acting(act!), turn)
        Reglue.write_actions!(turn, pointer(rows[2]))
    end
    return done
end

const PAIR, PLACE = TensorSpec("pair", Float32, (2,)), TensorSpec("place", Int64, (), Discrete(3))

"The error for a wrong action."
refusal(act!, actions...) = words(UsageError, () -> played(act!, actions...))

@testset "an episode's action" begin
    @testset "is written whole, by element or by broadcasting" begin
        @test played(action -> action[] = 2, PLACE) == [[2, 2, 2]]
        @test played(action -> action[] = [1, 2], PAIR) == [[1 1 1; 2 2 2]]
        @test played(action -> (action[1] = 1; action[2] += 2), PAIR) == [[1 1 1; 2 2 2]]
        @test played(action -> (action .= 3; action .-= [2, 1]), PAIR) == [[1 1 1; 2 2 2]]
        @test played(action -> copyto!(action, [1, 2]), PAIR) == [[1 1 1; 2 2 2]]
    end
    @testset "that is not looked at is refused, as `action = …` writes nothing" begin
        wanted = "got no action from episode_step!, wanted \"pair\" of `action` written, (2,) of Float32, as in action[] = …; " *
               "`action = …` writes nothing"
        @test refusal(action -> (action = 2), PAIR) == wanted
        @test refusal(action -> 2, PAIR) == wanted
        @test occursin("no actions from episode_step!, wanted [\"pair\"] or [\"place\"]", refusal(action -> 2, PAIR, PLACE))
    end
    @testset "of a wrong size is refused with the right one" begin
        for (values, size) in ((2, ()), ([1, 2, 3], (3,)), ([1], (1,)))
            @test refusal(action -> action[] = values, PAIR) == "got values of size $size for \"pair\", wanted (2,) of Float32"
        end
        @test refusal(action -> action .= [1, 2, 3], PAIR) == "got values of size (3,) for \"pair\", wanted (2,) of Float32"
        @test refusal(action -> action[] = [1, 2], PLACE) == "got values of size (2,) for \"place\", wanted () of Int64"
    end
    @testset "that the type cannot hold is refused" begin
        for write! in (action -> action[] = 1.5, action -> action .= 1.5, action -> action[1] = 1.5)
            @test refusal(write!, PLACE) == "got 1.5 for \"place\", wanted numbers that are Int64"
        end
    end
    @testset "of several tensors is by name" begin
        @test played(PAIR, PLACE) do action
            action["pair"] = [1, 2]
            action["place"][] = 2
        end == [[1 1 1; 2 2 2], [2, 2, 2]]
        @test refusal(action -> action["pear"] = 1, PAIR, PLACE) == "got [\"pear\"], wanted [\"pair\"] or [\"place\"]"
    end
end
