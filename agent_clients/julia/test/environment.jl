# How an environment describes itself.

const NOWHERE = Reglue.Handle("reglue_environment_", C_NULL)

spec_error(spec, tasks = ["task" => 1]) = words(UsageError, () -> Reglue.give_spec(NOWHERE, spec, tasks, UInt32(0)))

number(name = "number"; T = Float64, size = ()) = TensorSpec(name, T, size)

@testset "a spec that the library cannot take is refused" begin
    @test spec_error(TaskSpec([number()], [number()]; horizon = -1)) ==
          "got horizon -1, wanted an integer from 0 to 4294967295"
    @test spec_error(TaskSpec([number()], [number("a\0b")])) == "got a NUL in a tensor's name, wanted a text without one"
    @test spec_error(TaskSpec([number()], [number(size = (-1,))])) == "got size -1, wanted an integer from 0 to 4294967295"
    @test startswith(spec_error(TaskSpec([number()], [number(T = String)])), "got elements of String for \"number\"")
    spec = TaskSpec([number()], [number()])
    @test spec_error(spec, ["a\0b" => 1]) == "got a NUL in a task's name, wanted a text without one"
    @test spec_error(spec, ["task" => 0]) == "got variants 0, wanted an integer from 1 to 4294967295"
    @test spec_error(TaskSpec([number()], [number()]; extra = "a\0b")) == "got a NUL in extra, wanted a text without one"
    @test words(UsageError, () -> Discrete(0)) == "got n 0, wanted an integer from 1 to $(typemax(UInt64))"
    @test words(UsageError, () -> MultiDiscrete([2, -1])) == "got n -1, wanted an integer from 1 to $(typemax(UInt64))"
end

@testset "a kind of refusal that an environment may not throw is an error that repeats its words" begin
    message = words(UsageError, () -> Reglue.refuse!(NOWHERE, RoutineRefused(:LATE, "an hour", "a minute")))
    @test startswith(message, "got RoutineRefused(:LATE, …) from the environment, wanted one of (:OUT_OF_ORDER, ")
    @test endswith(message, ": got an hour, wanted a minute")
end
