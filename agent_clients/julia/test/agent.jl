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

words(thrown, agent) = try
    Reglue.connect(agent; address = "127.0.0.1:1", connect_timeout_s = 0.001)
catch error
    error isa thrown ? error.message : rethrow()
end

@testset "who lacks a routine is told before it dials" begin
    @test occursin("Idle lacks a routine, wanted a method Reglue.agent_start!(::Idle, ", words(UsageError, Idle()))
    @test occursin("Reglue.agent_step!(::Half, actions, rewards, ", words(UsageError, Half()))
    @test occursin("no glue answered", words(Unreachable, Whole()))
end

@testset "what is exported is documented" begin
    undocumented = filter(names(Reglue)) do name
        startswith(string(Base.Docs.doc(Base.Docs.Binding(Reglue, name))), "No documentation found")
    end
    @test isempty(undocumented)
end
