# A TaskSpec as lines of words, as proto/CONFORMANCE.md says.

function spec_text(spec::TaskSpec)
    task = (spec.reward_range..., spec.discount, spec.horizon, Int(spec.continuing),
            Int(spec.rewards_in_evaluation), spec.slots)
    lines = ["task " * join(task, " ")]
    for (kind, tensors) in (("observation", spec.observations), ("action", spec.actions)), tensor in tensors
        # Told as the glue does it: its axes are Julia's the other way round.
        dtype, shape = lowercase(string(eltype(tensor))), list(reverse(size(tensor)))
        push!(lines, join((kind, tensor.name, dtype, shape, words_of(tensor.domain)), " "))
    end
    return join(lines, "\n")
end

words_of(box::Box) = "box $(list(box.low)) $(list(box.high))"
words_of(discrete::Discrete) = "discrete $(discrete.n) $(discrete.start)"
words_of(many::MultiDiscrete) = "multi_discrete $(list(many.n))"
words_of(::MultiBinary) = "multi_binary"

list(numbers) = isempty(numbers) ? "-" : join(numbers, ",")

# And back.

const DTYPES = Dict(
    lowercase(string(T)) => T for
    T in (Bool, UInt8, UInt16, UInt32, UInt64, Int8, Int16, Int32, Int64, Float32, Float64)
)

function spec_of_text(text)
    lines = split.(split(text, "\n"))
    low, high, discount, horizon, continuing, rewarded, slots = lines[1][2:end]
    tensors(kind) = TensorSpec[tensor_of(line[2:end]...) for line in lines if line[1] == kind]
    return TaskSpec(
        tensors("observation"),
        tensors("action"),
        (parse(Float64, low), parse(Float64, high)),
        parse(Float64, discount),
        parse(Int, horizon),
        continuing == "1",
        rewarded == "1",
        parse(Int, slots),
        "",
    )
end

tensor_of(name, dtype, shape, domain...) =
    TensorSpec(name, DTYPES[dtype], Tuple(reverse(numbers(Int, shape))), domain_of(domain...))

function domain_of(kind, words...)
    kind == "box" && return Box(numbers.(Float64, words)...)
    kind == "discrete" && return Discrete(parse(UInt64, words[1]), parse(Int64, words[2]))
    kind == "multi_discrete" && return MultiDiscrete(numbers(UInt64, words[1]))
    return MultiBinary()
end

numbers(T, words) = words == "-" ? T[] : parse.(T, split(words, ","))
