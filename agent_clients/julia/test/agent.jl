# What an author does not write.

struct Idle <: Agent end

@testset "an agent" begin
    @test max_slots(Idle()) == 0
    @test !partial_turns(Idle())
    @test adapts(Idle())
    @test episodic(Idle())
    @test agent_message(Idle(), "hello") == ""
    @test Reglue.abilities(Idle()) == 2  # REGLUE_ADAPTS
end
