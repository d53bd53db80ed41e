# What an author does not write.

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

@testset "who has a method to adapt says so" begin
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
Reglue.agent_message(::Answering, text::String) = text == "nothing" ? nothing : text

@testset "what the library cannot be given is told" begin
    closed = Reglue.Handle("reglue_", C_NULL)
    answer(text) = words(UsageError, () -> Reglue.answer_message!(Answering(), closed, text))
    @test answer("nothing") == "got a Nothing as the answer of agent_message, wanted a String"
    @test answer("a\0b") == "got a NUL in the answer of agent_message, wanted a text without one"
    @test words(UsageError, () -> joined(Answering())) == "got max_slots -1, wanted an integer from 0 to 4294967295"
    @test words(UsageError, () -> Reglue.connect(Whole(); token = "a\0b")) == "got a NUL in token, wanted a text without one"
end

@testset "who lacks a routine is told before it dials" begin
    @test occursin("Idle lacks a routine, wanted a method Reglue.agent_start!(::Idle, ", words(UsageError, () -> joined(Idle())))
    @test occursin("Reglue.agent_step!(::Half, actions, rewards, ", words(UsageError, () -> joined(Half())))
    @test occursin("no glue answered", words(Unreachable, () -> joined(Whole())))
end

@testset "what is exported is documented" begin
    undocumented = filter(names(Reglue)) do name
        startswith(string(Base.Docs.doc(Base.Docs.Binding(Reglue, name))), "No documentation found")
    end
    @test isempty(undocumented)
end

"A turn of a task with one number seen and one done: two slots start, and one goes on."
function a_turn(run)
    spec = TaskSpec([TensorSpec{Float64,0}("seen", (), Box([], []))], [TensorSpec{Int64,0}("done", (), Discrete(3, 0))],
        (0.0, 1.0), 1.0, 0, false, true, 3, "")
    task, seen, done = Reglue.TypedSpec(spec), [1.0, 2.0, 3.0], zeros(Int64, 3)
    rows = [Ptr{Cvoid}[pointer(seen)], Ptr{Cvoid}[pointer(done)]]
    GC.@preserve seen done rows begin
        steps, starts = Steps([2], [0x00], TRAIN, task.goals), Starts([1, 3], UInt64[7, 8], TRAIN, task.goals)
        ends = Ends(Int[], EndKind[], TRAIN, task.goals)
        run(Reglue.Turn(ends, steps, starts, [0.5], task, pointer(rows[1]), pointer(rows[2]), Int[]))
    end
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

struct GivingUp <: Agent end

Reglue.agent_start!(::GivingUp, actions, observations, starts) = foreach(slot -> abandon!(actions, slot), starts.slots)
Reglue.agent_step!(::GivingUp, actions, rewards, observations, steps) = abandon!(actions, 2)

@testset "a turn" begin
    @testset "fills the rows of steps, then of starts" begin
        @test a_turn(turn -> turn!(Copying(), turn)) == [1, 4, 6]
    end
    @testset "without actions is refused, as `actions = …` writes none" begin
        for routine in (:agent_start!, :agent_step!)
            told = words(UsageError, () -> a_turn(turn -> turn!(Rebinding(routine), turn)))
            @test occursin("got no actions from $routine, wanted [\"done\"]", told)
            @test occursin("`actions = …` writes nothing", told)
        end
    end
    @testset "that gives its episodes up needs no actions" begin
        @test a_turn(turn -> (turn!(GivingUp(), turn); @test turn.abandoned == [2, 1, 3])) == [0, 0, 0]
    end
    @testset "gives up no episode that it does not play" begin
        for slot in (0, 7)
            told = words(UsageError, () -> a_turn(turn -> (abandon!(turn, slot); Reglue.check_abandoned(turn))))
            @test told == "got slot $slot to abandon, wanted one that steps or starts in this turn: 2, 1, 3"
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
