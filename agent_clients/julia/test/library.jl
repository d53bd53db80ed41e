# The C library: its structs, and what it says without a glue.

@testset "the library" begin
    @testset "structs are those of reglue.h" begin  # agent_clients/c/tests/header.c has the same numbers
        @test sizeof(Reglue.CTensor) == 104
        @test sizeof(Reglue.CSpec) == 64
        @test sizeof(Reglue.COptions) == 64
        @test sizeof(Reglue.CCall) == 152
    end
    @testset "errors are exceptions" begin
        @test_throws Unreachable Reglue.connect(Idle(); address = "127.0.0.1:1", token = "T", patience_s = 0.001)
        @test_throws UsageError Reglue.connect(Idle(); address = "nowhere", token = "T")
        @test_throws UsageError Reglue.connect(Idle(); address = "127.0.0.1:1", transport = :pigeon)
    end
    @testset "a library that is not there is named" begin
        @test_throws UsageError Reglue.open_library("/no/libreglue.so")
    end
end
