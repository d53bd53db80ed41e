# What a benchmark program gives.

refused(attempt) = words(RoutineRefused, attempt)

@testset "what a benchmark program gives" begin
    two = Reglue.TypedSpec(TaskSpec([TensorSpec("seen", Float64, (2,))], [TensorSpec("done", Int8)]))
    @testset "is converted" begin
        @test Reglue.checked_slots((1, 3)) == UInt32[0, 2]
        @test Reglue.checked_actions(two, [1.0, 2.0], 2) == (Int8[1, 2],)
        @test Reglue.checked_observations(two, Dict("seen" => [1 2; 3 4]'), 2) == ([1.0 3.0; 2.0 4.0],)
        @test Reglue.checked_rewards((1, 2), 2) == [1.0, 2.0]
    end
    @testset "is refused where it is no number, or not of that type" begin
        for slot in (0, -1, 1.5, "1", 2^40)
            @test refused(() -> Reglue.checked_slot(slot)) == "got slot $(repr(slot)), wanted an integer from 1 to 4294967295"
        end
        for number in (1.5, 300, nothing, "1")
            @test refused(() -> Reglue.checked_actions(two, [number], 1)) ==
                  "got $(repr(number)) for \"done\", wanted numbers that are Int8"
        end
        @test refused(() -> Reglue.checked_rewards(["1"], 1)) == "got \"1\" for reward, wanted numbers that are Float64"
    end
    @testset "is refused in a wrong size" begin
        wanted = ", wanted an array of size (1,), whose last axis is that of slots"
        @test refused(() -> Reglue.checked_actions(two, 1, 1)) == "got 1 for \"done\"$wanted"
        @test refused(() -> Reglue.checked_actions(two, [1, 2], 1)) == "got an array of size (2,) for \"done\"$wanted"
        @test refused(() -> Reglue.checked_actions(two, Dict(:done => [1]), 1)) == "got arrays for :done, wanted one for each of \"done\""
    end
    @testset "is refused where it is no goal" begin
        for task in (7, :hall)
            @test refused(() -> Reglue.checked_task(task)) == "got task $(repr(task)), wanted a string"
        end
        @test refused(() -> Reglue.checked_variant(-1)) == "got variant -1, wanted an integer from 0 to 4294967295"
    end
    @testset "is no text with a NUL" begin
        @test refused(() -> Reglue.checked_text("a\0b")) == "got a NUL in \"a\\0b\", wanted a text without one"
    end
end
