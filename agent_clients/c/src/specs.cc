#include "specs.h"

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

SpecView::SpecView(const TaskSpec& spec)
    : observations_(tensors_of(spec.observations)), actions_(tensors_of(spec.actions)) {
  spec_.observations = observations_.data();
  spec_.actions = actions_.data();
  spec_.observation_count = static_cast<std::uint32_t>(observations_.size());
  spec_.action_count = static_cast<std::uint32_t>(actions_.size());
  spec_.reward_low = spec.reward_low;
  spec_.reward_high = spec.reward_high;
  spec_.discount = spec.discount;
  spec_.horizon = spec.horizon;
  spec_.slots = spec.slots;
  spec_.continuing = spec.continuing;
  spec_.rewards_in_evaluation = spec.rewards_in_evaluation;
}

}  // namespace reglue::c
