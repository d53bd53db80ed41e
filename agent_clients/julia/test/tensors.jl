# Arrays of memory: which element is where, and whose it is.

written(array = zeros(2, 3)) = Actions(["a"], (array,), Int[])

@testset "tensors" begin
    image = TensorSpec{UInt8,3}("image", (3, 2, 4), MultiBinary())  # (height 4, width 2, channels 3) to the glue
    memory = collect(UInt8, 1:48)  # two rows
    @testset "axes are the glue's in reverse, and rows the last one" begin
        GC.@preserve memory begin
            rows = Reglue.rows_at(image, Ptr{Cvoid}(pointer(memory)), 0, 2)
            @test size(rows) == (3, 2, 4, 2)
            height, width, channel = 2, 1, 0  # from 0, in row 1
            @test rows[channel+1, width+1, height+1, 2] == memory[1+24+height*6+width*3+channel]
        end
    end
    @testset "rows from the middle are a copy, or the same memory for who wants that" begin
        GC.@preserve memory begin
            for (is_shared, left) in ((false, 25), (true, 0xff))
                row = Reglue.rows_at(image, Ptr{Cvoid}(pointer(memory)), 1, 1, is_shared)
                @test row == reshape(25:48, 3, 2, 4, 1)
                row[1] = 0xff
                @test memory[25] == left
            end
        end
    end
    @testset "rows are written back to where they were" begin
        memories = Ptr{Cvoid}[pointer(memory)]
        GC.@preserve memory memories begin
            rows = Reglue.rows_at((image,), pointer(memories), 1, 1)
            rows[1] .= 9
            Reglue.write_rows!(pointer(memories), 1, 1, (image,), rows)
            @test memory == [1:24; fill(9, 24)]
        end
    end
    @testset "no rows, and rows without elements, need no memory" begin
        empty = TensorSpec{Float64,1}("empty", (0,), Box([], []))
        @test size(Reglue.rows_at(image, C_NULL, 0, 0)) == (3, 2, 4, 0)
        @test size(Reglue.rows_at(empty, C_NULL, 0, 5)) == (0, 5)
    end
    @testset "by name, or the only one" begin
        one = Observations(["a"], ([1.0],))
        @test one["a"] === one[]
        @test collect(keys(one)) == ["a"]
        @test get(one, "b", nothing) === nothing
    end
    @testset "a wrong name is refused with the right ones" begin
        two = Observations(["a", "b"], ([1.0], [2]))
        @test words(UsageError, () -> two["c"]) == "got [\"c\"], wanted [\"a\"] or [\"b\"]"
        @test words(UsageError, () -> two[]) == "got [], which is for one tensor, wanted [\"a\"] or [\"b\"]"
        @test words(UsageError, () -> written()["b"] = 1) == "got [\"b\"], wanted [\"a\"]"
        @test words(UsageError, () -> written()["b"] .= 1) == "got [\"b\"], wanted [\"a\"]"
    end
    @testset "an assignment writes into the same array" begin
        array = zeros(2, 3)
        actions = written(array)
        actions[] = [1, 2]
        actions["a"][:, 3] .= 7
        @test actions[] === array == [1 1 7; 2 2 7]
        actions[] .= [3 4 5] .+ 1
        actions["a"] .+= 1
        @test array == [5 6 7; 5 6 7]
    end
    @testset "a wrong size is refused with the right one" begin
        wanted = "for \"a\", wanted (2, 3) of Float64, whose last axis is that of slots"
        @test occursin("got values of size (3,) $wanted", words(UsageError, () -> written()["a"] = [1, 2, 3]))
        @test occursin("got values of size (3,) $wanted", words(UsageError, () -> written()[] .= [1, 2, 3] .+ 1))
        @test occursin("got values of size (2, 3, 2) $wanted", words(UsageError, () -> written()[] = zeros(2, 3, 2)))
    end
    @testset "a value that the type cannot hold is refused" begin
        bytes = Actions(["a"], (zeros(Int8, 1),), Int[])
        for value in (300, 1.5, NaN, nothing, "1")
            wanted = "got $(repr(value)) for \"a\", wanted numbers that are Int8"
            @test words(UsageError, () -> bytes[] = [value]) == wanted
            @test words(UsageError, () -> bytes["a"] .= [value]) == wanted
        end
        bytes[] = 3.0
        @test bytes[] == [3]
    end
    @testset "the compiler knows the arrays' types" begin
        one = Observations(["a"], (zeros(2, 3),))
        @test @inferred(one[]) === @inferred(one["a"])
        @test @inferred(written()[]) isa Matrix{Float64}
        alike = Observations(["a", "b"], ([1.0], [2.0]))
        @test @inferred(alike["b"]) == [2.0]
        task = Reglue.TypedSpec(TaskSpec([image], [image], (0.0, 1.0), 1.0, 0, false, true, 2, ""))
        pointers = Ptr{Cvoid}[pointer(memory)]
        GC.@preserve memory pointers begin
            @test @inferred(Reglue.rows_at(task.observations, pointer(pointers), 0, 2)) isa Tuple{Array{UInt8,4}}
        end
    end
end
