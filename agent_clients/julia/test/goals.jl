# What an agent has seen of goals, turn by turn.

tensor(name, shape = (2,); T = Float64) = TensorSpec{T,length(shape)}(name, shape, Box([], []))

"Of three slots."
task(tensors...) = Reglue.TypedSpec(TaskSpec([tensors...], [tensor("action")], (-Inf, Inf), 1.0, 0, false, true, 3, ""))

const STATE, GOAL = tensor("observation", (3,)), tensor("desired_goal")

"A turn in which row i of every tensor is all `numbers[i]` has been seen."
function seen!(task, numbers; ends = Int[], steps = Int[], starts = Int[])
    rows = [repeat(eltype(each).(numbers), inner = length(each)) for each in task.spec.observations]
    many = length(steps) + length(starts)
    actions = [zeros(eltype(each), size(each)..., many) for each in task.spec.actions]
    memories, undone = Ptr{Cvoid}[pointer(row) for row in rows], Ptr{Cvoid}[pointer(action) for action in actions]
    GC.@preserve rows memories actions undone begin
        turn = Reglue.Turn(
            Ends(ends, fill(TERMINATED, length(ends)), TRAIN, task.goals),
            Steps(steps, zeros(UInt8, length(steps)), TRAIN, task.goals),
            Starts(starts, zeros(UInt64, length(starts)), TRAIN, task.goals),
            zeros(length(ends) + length(steps)),
            task,
            pointer(memories),
            pointer(undone),
        )
        Reglue.see!(task.goals, turn)
        return turn
    end
end

why_not(goals, slot) = try
    get_goal(goals, slot)
catch error
    error isa UsageError ? error.message : rethrow()
end

@testset "goals" begin
    @testset "the newest of a slot is returned" begin
        mine = task(STATE, GOAL)
        seen!(mine, [1, 2]; starts = [3, 1])
        @test get_goal(mine.goals, 3) == Dict("desired_goal" => [1, 1])
        turn = seen!(mine, [3]; steps = [3])
        for part in (turn, turn.ends, turn.steps, turn.starts)
            @test get_goal(part, 3)["desired_goal"] == [3, 3]
            @test get_goal(part, 1)["desired_goal"] == [2, 2]  # not in that turn
        end
    end
    @testset "where a slot ends and starts the start counts" begin
        mine = task(STATE, GOAL)
        turn = seen!(mine, [1, 2, 3, 4]; ends = [2, 3], steps = [1], starts = [2])
        @test get_goal(turn, 2)["desired_goal"] == [4, 4]
        @test get_goal(turn, 1)["desired_goal"] == [3, 3]
        @test get_goal(turn, 3)["desired_goal"] == [2, 2]  # only ends
    end
    @testset "a goal is a copy" begin
        turn = seen!(task(GOAL), [1]; starts = [1])
        get_goal(turn, 1)["desired_goal"] .= 9
        @test get_goal(turn, 1)["desired_goal"] == [1, 1]
    end
    @testset "they are known by the end of their names, and may have parts and any shape" begin
        names = ["state_desired_goal", "desired_goal/kettle", "achieved_goal", "desired_goals"]
        mine = task(tensor(names[1], (); T = UInt8), tensor(names[2], (3, 2)), tensor.(names[3:4])...)
        goal = get_goal(seen!(mine, [5, 7]; starts = [1, 2]), 2)
        @test sort(collect(keys(goal))) == sort(names[1:2])
        @test goal[names[1]] == fill(0x07) && goal[names[1]] isa Array{UInt8,0}
        @test goal[names[2]] == fill(7.0, 3, 2)
    end
    @testset "without any the error says why" begin
        @test why_not(task(STATE).goals, 1) == "got a task that shows observation, wanted a tensor called desired_goal"
        goals = seen!(task(STATE, GOAL), [1]; starts = [1]).starts.goals
        @test why_not(goals, 2) == "nothing was seen in slot 2 yet; wait for its agent_start!"
        @test why_not(goals, 0) == "got slot 0, wanted 1 to 3"
        @test why_not(goals, 4) == "got slot 4, wanted 1 to 3"
    end
end
