# tests/reglue/rng_vectors.json: the same numbers in every language.

const VECTORS = read_json(read(joinpath(@__DIR__, "../../../tests/reglue/rng_vectors.json"), String))

whole(digits) = parse(UInt64, digits; base = 16)
rng_of(vector) = Rng(whole(vector["seed"]), whole(vector["episode"]); drawn = whole(vector["drawn"]))

"A Float64 of its bytes, least first, in hexadecimal."
real(digits) = reinterpret(Float64, ntoh(whole(digits)))

@testset "random numbers" begin
    @testset "blocks are Random123's" begin
        for vector in VECTORS["blocks"]
            block = Reglue.philox(Tuple(whole.(vector["counter"])), Tuple(whole.(vector["key"])))
            @test block == Tuple(whole.(vector["block"]))
        end
    end
    @testset "words" begin
        for vector in VECTORS["words"]
            rng = rng_of(vector)
            @test [word!(rng) for _ in vector["words"]] == whole.(vector["words"])
        end
    end
    @testset "uniform numbers, to the bit" begin
        for vector in VECTORS["uniforms"]
            rng = rng_of(vector)
            low, high = real(vector["low_bits"]), real(vector["high_bits"])
            @test [uniform!(rng, low, high) for _ in vector["float64"]] == real.(vector["float64"])
        end
    end
    @testset "integers" begin
        for vector in VECTORS["below"]
            rng = rng_of(vector)
            n = parse(UInt128, vector["n"]; base = 16)
            @test [below!(rng, n) for _ in vector["numbers"]] == whole.(vector["numbers"])
            @test rng.drawn == whole(vector["drawn_after"])
        end
    end
    @testset "it is a generator of Julia's library" begin
        @test rand(Rng(7), UInt64) === word!(Rng(7))
        @test rand(Rng(7)) === uniform!(Rng(7))
        rng = Rng(7)
        for T in (Bool, Int8, UInt8, Int16, UInt16, Int32, UInt32, Int64, UInt64, Int128, UInt128, Float16, Float32)
            @test rand(rng, T) isa T
        end
        rolled = rand(rng, 1:6, 6000)
        @test all(face -> 850 < count(==(face), rolled) < 1150, 1:6)
        drawn = randn(rng, 10_000)
        @test abs(sum(drawn) / 10_000) < 0.05
        @test abs(sum(abs2, drawn) / 10_000 - 1) < 0.05
        @test sort(Random.shuffle(rng, 1:52)) == 1:52
        @test -10 <= rand(rng, big(-10):big(10)) <= 10
    end
    @testset "below nothing is refused" begin
        @test_throws UsageError below!(Rng(1), 0)
    end
    @testset "a negative seed is refused" begin
        @test_throws UsageError Rng(-1)
    end
end
