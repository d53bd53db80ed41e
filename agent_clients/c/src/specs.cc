#include "specs.h"

#include <utility>

namespace reglue::c {
namespace {

struct DomainInto {
  reglue_tensor& tensor;

  void operator()(const Box& box) const {
    tensor.domain = REGLUE_BOX;
    tensor.low = box.low.data();
    tensor.lows = box.low.size();
    tensor.high = box.high.data();
    tensor.highs = box.high.size();
  }
  void operator()(const Discrete& discrete) const {
    tensor.domain = REGLUE_DISCRETE;
    tensor.n = &discrete.n;
    tensor.ns = 1;
    tensor.start = discrete.start;
  }
  void operator()(const MultiDiscrete& many) const {
    tensor.domain = REGLUE_MULTI_DISCRETE;
    tensor.n = many.n.data();
    tensor.ns = many.n.size();
  }
  void operator()(const MultiBinary&) const { tensor.domain = REGLUE_MULTI_BINARY; }
};

std::vector<reglue_tensor> tensors_of(const std::vector<TensorSpec>& specs) {
  std::vector<reglue_tensor> tensors;
  for (const TensorSpec& spec : specs) {
    reglue_tensor tensor{};
    tensor.name = spec.name.c_str();
    tensor.shape = spec.shape.data();
    tensor.axes = static_cast<std::uint32_t>(spec.shape.size());
    tensor.dtype = static_cast<std::int32_t>(spec.dtype);
    tensor.size = spec.size();
    tensor.row_bytes = spec.row_bytes();
    std::visit(DomainInto{tensor}, spec.domain);
    tensors.push_back(tensor);
  }
  return tensors;
}

}  // namespace

SpecView::SpecView(TaskSpec spec)
    : task_(std::move(spec)),
      observations_(tensors_of(task_.observations)),
      actions_(tensors_of(task_.actions)) {
  spec_.observations = observations_.data();
  spec_.actions = actions_.data();
  spec_.observation_count = static_cast<std::uint32_t>(observations_.size());
  spec_.action_count = static_cast<std::uint32_t>(actions_.size());
  spec_.reward_low = task_.reward_low;
  spec_.reward_high = task_.reward_high;
  spec_.discount = task_.discount;
  spec_.horizon = task_.horizon;
  spec_.slots = task_.slots;
  spec_.continuing = task_.continuing;
  spec_.rewards_in_evaluation = task_.rewards_in_evaluation;
  spec_.extra = task_.extra.c_str();
}

namespace {

template <class Number>
std::vector<Number> list_of(const std::string& what, const Number* numbers, std::uint64_t count) {
  if (count == 0) return {};
  if (!numbers) throw SpecError(what + ": got NULL, wanted " + std::to_string(count) + " of them");
  return {numbers, numbers + count};
}

Domain domain_of(const reglue_tensor& tensor) {
  const std::string name = tensor.name;
  switch (tensor.domain) {
    case REGLUE_BOX:
      return Box{list_of(name + "'s low", tensor.low, tensor.lows),
                 list_of(name + "'s high", tensor.high, tensor.highs)};
    case REGLUE_DISCRETE: {
      const auto n = list_of(name + "'s n", tensor.n, tensor.ns);
      return Discrete{n.size() == 1 ? n[0] : 0, tensor.start};
    }
    case REGLUE_MULTI_DISCRETE: return MultiDiscrete{list_of(name + "'s n", tensor.n, tensor.ns)};
    case REGLUE_MULTI_BINARY: return MultiBinary{};
  }
  throw SpecError(name + ": got domain " + std::to_string(tensor.domain) +
                  ", wanted one of enum reglue_domain");
}

std::vector<TensorSpec> specs_of(const char* what, const reglue_tensor* tensors,
                                 std::uint32_t count) {
  std::vector<TensorSpec> specs;
  for (const reglue_tensor& tensor : list_of(what, tensors, count)) {
    if (!tensor.name) throw SpecError(std::string(what) + ": got a tensor without a name");
    if (tensor.dtype < REGLUE_BOOL || tensor.dtype > REGLUE_FLOAT64) {
      throw SpecError(std::string(tensor.name) + ": got dtype " + std::to_string(tensor.dtype) +
                      ", wanted one of enum reglue_dtype");
    }
    specs.push_back({tensor.name, static_cast<Dtype>(tensor.dtype),
                     list_of(tensor.name + std::string("'s shape"), tensor.shape, tensor.axes),
                     domain_of(tensor)});
  }
  return specs;
}

}  // namespace

TaskSpec task_spec_of(const reglue_spec& from) {
  TaskSpec spec;
  spec.observations = specs_of("observations", from.observations, from.observation_count);
  spec.actions = specs_of("actions", from.actions, from.action_count);
  spec.reward_low = from.reward_low;
  spec.reward_high = from.reward_high;
  spec.discount = from.discount;
  spec.horizon = from.horizon;
  spec.continuing = from.continuing;
  spec.rewards_in_evaluation = from.rewards_in_evaluation;
  if (from.extra) spec.extra = from.extra;
  return spec;
}

}  // namespace reglue::c
