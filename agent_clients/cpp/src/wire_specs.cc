#include "wire_specs.h"

namespace reglue {

namespace {

Domain decode_domain(const v1::TensorSpec& message) {
  switch (message.domain_case()) {
    case v1::TensorSpec::kBox: {
      const auto& box = message.box();
      return Box{{box.low().begin(), box.low().end()}, {box.high().begin(), box.high().end()}};
    }
    case v1::TensorSpec::kDiscrete:
      return Discrete{message.discrete().n(), message.discrete().start()};
    case v1::TensorSpec::kMultiDiscrete:
      return MultiDiscrete{{message.multi_discrete().n().begin(),
                            message.multi_discrete().n().end()}};
    case v1::TensorSpec::kMultiBinary:
      return MultiBinary{};
    case v1::TensorSpec::DOMAIN_NOT_SET:
      break;
  }
  throw SpecError(message.name() + ": no domain");
}

TensorSpec decode_tensor(const v1::TensorSpec& message) {
  const int dtype = message.dtype();
  if (dtype < v1::DTYPE_BOOL || dtype > v1::DTYPE_FLOAT64) {
    throw SpecError(message.name() + ": got dtype " + std::to_string(dtype) + ", wanted " +
                    std::to_string(v1::DTYPE_BOOL) + " to " + std::to_string(v1::DTYPE_FLOAT64));
  }
  return {message.name(), static_cast<Dtype>(dtype),
          {message.shape().begin(), message.shape().end()}, decode_domain(message)};
}

void encode_tensor(const TensorSpec& tensor, v1::TensorSpec& message) {
  message.set_name(tensor.name);
  message.set_dtype(static_cast<v1::Dtype>(tensor.dtype));
  message.mutable_shape()->Add(tensor.shape.begin(), tensor.shape.end());
  if (const auto* box = std::get_if<Box>(&tensor.domain)) {
    message.mutable_box()->mutable_low()->Add(box->low.begin(), box->low.end());
    message.mutable_box()->mutable_high()->Add(box->high.begin(), box->high.end());
  } else if (const auto* discrete = std::get_if<Discrete>(&tensor.domain)) {
    message.mutable_discrete()->set_n(discrete->n);
    message.mutable_discrete()->set_start(discrete->start);
  } else if (const auto* many = std::get_if<MultiDiscrete>(&tensor.domain)) {
    message.mutable_multi_discrete()->mutable_n()->Add(many->n.begin(), many->n.end());
  } else {
    message.mutable_multi_binary();
  }
}

}  // namespace

TaskSpec decode_spec(const v1::TaskSpec& message) {
  TaskSpec spec;
  for (const auto& tensor : message.observations()) {
    spec.observations.push_back(decode_tensor(tensor));
  }
  for (const auto& tensor : message.actions()) spec.actions.push_back(decode_tensor(tensor));
  spec.reward_low = message.reward_low();
  spec.reward_high = message.reward_high();
  spec.discount = message.discount();
  spec.horizon = message.horizon();
  spec.continuing = message.continuing();
  spec.rewards_in_evaluation = message.rewards_in_evaluation();
  spec.slots = message.slots();
  check(spec);
  return spec;
}

void encode_spec(const TaskSpec& spec, v1::TaskSpec& message) {
  message.Clear();
  for (const TensorSpec& tensor : spec.observations) {
    encode_tensor(tensor, *message.add_observations());
  }
  for (const TensorSpec& tensor : spec.actions) encode_tensor(tensor, *message.add_actions());
  message.set_reward_low(spec.reward_low);
  message.set_reward_high(spec.reward_high);
  message.set_discount(spec.discount);
  message.set_horizon(spec.horizon);
  message.set_continuing(spec.continuing);
  message.set_rewards_in_evaluation(spec.rewards_in_evaluation);
  message.set_slots(spec.slots);
}

}  // namespace reglue
