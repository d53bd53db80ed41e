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
