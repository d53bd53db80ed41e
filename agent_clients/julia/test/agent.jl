# What the package does for an author.

struct Idle <: Agent end

@testset "an agent" begin
    @test max_slots(Idle()) == 0
    @test !partial_turns(Idle())
    @test !adapts(Idle())
    @test episodic(Idle())
    @test agent_message(Idle(), "hello") == ""
    @test Reglue.abilities(Idle()) == 0
end

struct Adapting <: Agent end

Reglue.adapt!(::Adapting) = nothing

@testset "an agent with a method to adapt says so" begin
    @test Reglue.abilities(Adapting()) == 2  # REGLUE_ADAPTS
end

struct Half <: Agent end

Reglue.agent_start!(::Half, actions, observations, starts) = nothing

struct Whole <: Agent end

Reglue.turn!(::Whole, turn::Turn) = nothing

joined(agent) = Reglue.connect(agent; address = "127.0.0.1:1", connect_timeout_s = 0.001)

struct Answering <: Agent end

Reglue.turn!(::Answering, turn::Turn) = nothing
Reglue.max_slots(::Answering) = -1
Reglue.agent_message(::Answering, text) = text == "nothing" ? nothing : text

@testset "values that the library cannot take are refused" begin
    closed = Reglue.Handle("reglue_", C_NULL)
    answer(text) = words(UsageError, () -> Reglue.answer_message!(Answering(), closed, text))
    @test answer("nothing") == "got a Nothing as the answer of agent_message, wanted a String"
    @test answer("a\0b") == "got a NUL in the answer of agent_message, wanted a text without one"
    @test words(UsageError, () -> joined(Answering())) == "got max_slots -1, wanted an integer from 0 to 4294967295"
    @test words(UsageError, () -> Reglue.connect(Whole(); token = "a\0b")) == "got a NUL in token, wanted a text without one"
end

@testset "an agent that lacks a routine is refused before it dials" begin
    @test occursin("Idle lacks a routine, wanted a method Reglue.agent_start!(::Idle, ", words(UsageError, () -> joined(Idle())))
    @test occursin("Reglue.agent_step!(::Half, actions, rewards, ", words(UsageError, () -> joined(Half())))
    @test occursin("no glue answered", words(Unreachable, () -> joined(Whole())))
end

# README's signatures, and one that leaves no choice.

struct Untyped <: EpisodeAgent
    episodes::Dict{Int,Nothing}
end

Reglue.agent_init!(agent::Untyped, spec) = nothing
Reglue.turn!(agent::Untyped, turn) = nothing
Reglue.agent_end!(agent::Untyped, rewards, observations, ends) = nothing
Reglue.agent_message(agent::Untyped, text) = "answered"
Reglue.agent_budget!(agent::Untyped, budget) = nothing
Reglue.episode_end!(episode::Nothing, agent, reward, observation, kind) = nothing

struct Torn <: Agent end

Reglue.turn!(::Torn, turn) = nothing
Reglue.agent_message(agent::Union{Torn,Vector}, text) = "one"
Reglue.agent_message(agent::Union{Torn,Matrix}, text) = "another"

@testset "signatures without types do" begin
    agent = Untyped(Dict())
    @test agent_message(agent, "hello") == "answered"
    @test agent_init!(agent, TaskSpec([TensorSpec("seen", Float64)], [TensorSpec("done", Float64)])) === nothing
    @test episode_end!(nothing, agent, 0.0, [], TERMINATED) === nothing
    @test Reglue.check_routines(agent) === nothing
end

@testset "methods between which Julia cannot choose are refused before it dials" begin
    message = words(UsageError, () -> joined(Torn()))
    @test occursin("got methods of agent_message between which Julia cannot choose for a Torn: ", message)
    @test count(r"test/agent\.jl:\d+", message) == 2
    @test endswith(message, "wanted one that is agent_message(::Torn, …)")
end

@testset "what is exported is documented" begin
    undocumented = filter(names(Reglue)) do name
        startswith(string(Base.Docs.doc(Base.Docs.Binding(Reglue, name))), "No documentation found")
    end
    @test isempty(undocumented)
end

"A turn of a task with one observation and one action: two slots start, and one goes on."
function turn_at(seen, done, is_shared = false)
    spec = TaskSpec([TensorSpec{Float64,0}("seen", (), Box([], []))], [TensorSpec{Int64,0}("done", (), Discrete(3, 0))],
        (0.0, 1.0), 1.0, 0, false, true, 3, "")
    task, rows = Reglue.TypedSpec(spec), [Ptr{Cvoid}[pointer(seen)], Ptr{Cvoid}[pointer(done)]]
    steps, starts = Steps([2], [0x00], TRAIN, task.goals), Starts([1, 3], UInt64[7, 8], TRAIN, task.goals)
    ends = Ends(Int[], EndKind[], TRAIN, task.goals)
    GC.@preserve seen done rows begin
        return Reglue.Turn(ends, steps, starts, [0.5], task, pointer(rows[1]), pointer(rows[2]), is_shared)
    end
end

"The actions in the memory of the library after `run`."
function a_turn(run, is_shared = false)
    seen, done = [1.0, 2.0, 3.0], zeros(Int64, 3)
    turn, memories = turn_at(seen, done, is_shared), Ptr{Cvoid}[pointer(done)]
    run(turn)
    GC.@preserve seen done memories Reglue.write_actions!(turn, pointer(memories))
    return done
end

struct Copying <: Agent end

Reglue.agent_start!(::Copying, actions, observations, starts) = actions[] = 2 .* observations[]
Reglue.agent_step!(::Copying, actions, rewards, observations, steps) = actions[] .= observations[]

struct Rebinding <: Agent
    routine::Symbol
end

function Reglue.agent_start!(agent::Rebinding, actions, observations, starts)
    agent.routine == :agent_start! ? (actions = [1, 2]) : (actions[] .= 0)
    return nothing
end

function Reglue.agent_step!(agent::Rebinding, actions, rewards, observations, steps)
    agent.routine == :agent_step! ? (actions = [1]) : (actions[] .= 0)
    return nothing
end

struct Abandoning <: Agent end

Reglue.agent_start!(::Abandoning, actions, observations, starts) = foreach(slot -> abandon!(actions, slot), starts.slots)
Reglue.agent_step!(::Abandoning, actions, rewards, observations, steps) = abandon!(actions, 2)

@testset "a turn" begin
    @testset "fills the rows of steps, then of starts" begin
        @test a_turn(turn -> turn!(Copying(), turn)) == [1, 4, 6]
        @test a_turn(turn -> turn!(Copying(), turn), true) == [1, 4, 6]
    end
    @testset "whose actions were resized is refused" begin
        message = words(UsageError, () -> a_turn(turn -> resize!(Reglue.actions(turn, turn.starts)[], 1)))
        @test message == "got an array for \"done\" that was resized to (1,), wanted its original size, (2,)"
    end
    @testset "is a copy, or the memory of the library if the agent asks for no copies" begin
        for is_shared in (false, true)
            seen, done = [1.0, 2.0, 3.0], zeros(Int64, 3)
            turn = turn_at(seen, done, is_shared)
            observations = Reglue.observations(turn, turn.starts)[]
            seen .= 7
            Reglue.actions(turn, turn.steps)[] = 2
            @test observations == (is_shared ? [7, 7] : [2, 3])
            @test done == (is_shared ? [2, 0, 0] : [0, 0, 0])
        end
    end
    @testset "without actions is refused, as `actions = …` writes none" begin
        for routine in (:agent_start!, :agent_step!)
            message = words(UsageError, () -> a_turn(turn -> turn!(Rebinding(routine), turn)))
            @test occursin("got no actions from $routine, wanted [\"done\"]", message)
            @test occursin("`actions = …` writes nothing", message)
        end
    end
    @testset "that abandons its episodes needs no actions" begin
        @test a_turn(turn -> (turn!(Abandoning(), turn); @test turn.abandoned == [2, 1, 3])) == [0, 0, 0]
    end
    @testset "abandons no episode that it does not play" begin
        for slot in (0, 7)
            message = words(UsageError, () -> a_turn(turn -> (abandon!(turn, slot); Reglue.check_abandoned(turn))))
            @test message == "got slot $slot to abandon, wanted one that steps or starts in this turn: 2, 1, 3"
        end
    end
    @testset "is plain calls for the compiler" begin
        a_turn() do turn
            @test @inferred(Reglue.observations(turn, turn.steps))[] == [1.0]
            @test @inferred(Reglue.actions(turn, turn.starts)) isa Actions{Tuple{Vector{Int64}}}
            turn!(Copying(), turn)
            @test (@allocated turn!(Copying(), turn)) < 2000  # headers of arrays; 20 kB would be boxes
        end
    end
end

@testset "what is compiled ahead has methods" begin
    @test all(hasmethod(routine, types) for (routine, types) in Reglue.AHEAD)
end
