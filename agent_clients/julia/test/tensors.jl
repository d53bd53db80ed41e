# Arrays over memory: which element is where, and that nothing is copied.

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
    @testset "rows from the middle are the same memory" begin
        GC.@preserve memory begin
            row = Reglue.rows_at(image, Ptr{Cvoid}(pointer(memory)), 1, 1)
            row[1] = 0xff
            @test memory[25] == 0xff
        end
    end
    @testset "no rows, and rows without elements, need no memory" begin
        empty = TensorSpec{Float64,1}("empty", (0,), Box([], []))
        @test size(Reglue.rows_at(image, C_NULL, 0, 0)) == (3, 2, 4, 0)
        @test size(Reglue.rows_at(empty, C_NULL, 0, 5)) == (0, 5)
    end
    @testset "by name, or the only one" begin
        one = Observations(["a"], [[1.0]])
        @test one["a"] === one[]
        @test collect(keys(one)) == ["a"]
        @test_throws KeyError one["b"]
        @test_throws UsageError Observations(["a", "b"], [[1.0], [2.0]])[]
    end
    @testset "an assignment writes into the same array" begin
        array = zeros(2, 3)
        actions = Actions(["a"], [array], UInt32[])
        actions[] = [1, 2]
        actions["a"][:, 3] .= 7
        @test actions[] === array == [1 1 7; 2 2 7]
        @test_throws DimensionMismatch actions["a"] = [1, 2, 3]
        @test_throws KeyError actions["b"] = 1
    end
    @testset "slots are given up by the protocol's numbers" begin
        actions = Actions(["a"], [[1.0]], UInt32[])
        abandon!(actions, 3)
        @test actions.abandoned == [2]
    end
end
