# The C library: its structs, and what it says without a glue.

@testset "the library" begin
    @testset "structs are those of reglue.h" begin  # agent_clients/c/tests/header.c has the same numbers
        @test sizeof(Reglue.CTensor) == 104
        @test sizeof(Reglue.CSpec) == 72
        @test sizeof(Reglue.COptions) == 64
        @test sizeof(Reglue.CCall) == 152
        @test sizeof(Reglue.CRows) == 48
        @test sizeof(Reglue.CTask) == 16
        @test sizeof(Reglue.CCell) == 40
        @test sizeof(Reglue.CEnvironmentCall) == 120
    end
    @testset "the rest of a task is read" begin
        extra = "by a Größe"
        spec_in_c = Ref(Reglue.CSpec(C_NULL, C_NULL, 0, 0, 0.0, 1.0, 1.0, 0, 1, 0, 1, Reglue.c_text(extra)))
        GC.@preserve extra spec_in_c begin
            spec = Reglue.task_spec(Base.unsafe_convert(Ptr{Reglue.CSpec}, spec_in_c))
        end
        @test spec.extra == Reglue.with_slots(spec, 2).extra == extra
    end
    @testset "errors are exceptions" begin
        @test_throws Unreachable Reglue.connect(Whole(); address = "127.0.0.1:1", token = "T", connect_timeout_s = 0.001)
        @test_throws UsageError Reglue.connect(Whole(); address = "nowhere", token = "T")
        @test_throws UsageError Reglue.connect(Whole(); address = "127.0.0.1:1", transport = :pigeon)
        @test words(UsageError, () -> Experiment(; address = "127.0.0.1:1", connect_timeout_s = 0.001, timeout_s = 0)) ==
              "got timeout_s 0, wanted 0.001 to 1e9"
    end
    @testset "the glue's slots are counted from 1, and nothing else is" begin
        error_of(code, text) = Reglue.error_of(Cint(code), text).message  # codes of reglue.h
        out_of_order, out_of_domain, agent_fault, environment_fault = 31, 34, 40, 41
        @test error_of(out_of_domain, "got slot 5, wanted 0 to 2") == "got slot 6, wanted 1 to 3"
        @test error_of(out_of_domain, "got slots [0, 9], wanted each at most once") ==
              "got slots [1, 10], wanted each at most once"
        @test error_of(out_of_domain, "got seed 5, wanted 0 to 2") == "got seed 5, wanted 0 to 2"
        @test error_of(out_of_order, "got RL_step in slot 0, which has no episode, wanted RL_start first") ==
              "got RL_step in slot 1, which has no episode, wanted RL_start first"
        @test error_of(environment_fault, "slot 0: it broke in slot 7\nslot 2: 3 to 4") ==
              "slot 1: it broke in slot 7\nslot 3: 3 to 4"
        @test error_of(environment_fault, "slot 4 is lost: it broke") == "slot 5 is lost: it broke"
        @test error_of(agent_fault, "the agent gave up its episode in slots [0, 1]") ==
              "the agent gave up its episode in slots [1, 2]"
        @test error_of(agent_fault, "KeyError in slot 0") == "KeyError in slot 0"
    end
    @testset "an experiment may be closed twice" begin
        rl = Experiment(Reglue.Handle("reglue_experiment_", C_NULL), nothing)
        @test close(rl) === close(rl) === nothing
        @test words(SessionLost, () -> rl_freeze!(rl)) == "the program has left"
    end
    @testset "a library that is not there is named" begin
        @test_throws UsageError Reglue.open_library("/no/libreglue.so")
        another = first(filter(path -> occursin("libjulia", path), Libdl.dllist()))
        @test_throws UsageError Reglue.open_library(another)
    end
    @testset "a library of another version is refused" begin
        @test Reglue.check_version("libreglue.so", v"0.1.7") === nothing
        @test_throws UsageError Reglue.check_version("libreglue.so", v"0.2.0")
    end
end
