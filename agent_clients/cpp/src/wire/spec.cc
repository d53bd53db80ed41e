#include "reglue/spec.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_set>

namespace reglue {

namespace {

constexpr std::size_t kMostElements = 64 << 20;  // of a row: a hub's largest message
constexpr std::size_t kMostAxes = 63;

struct DtypeTraits {
  const char* name;
  std::size_t size;
  bool is_integer;
};
constexpr std::array<DtypeTraits, 12> kDtypes{{{"", 0, false},
                                               {"bool", 1, false},
                                               {"uint8", 1, true},
                                               {"uint16", 2, true},
                                               {"uint32", 4, true},
                                               {"uint64", 8, true},
                                               {"int8", 1, true},
                                               {"int16", 2, true},
                                               {"int32", 4, true},
                                               {"int64", 8, true},
                                               {"float32", 4, false},
                                               {"float64", 8, false}}};

const DtypeTraits& traits(Dtype dtype) { return kDtypes.at(static_cast<std::size_t>(dtype)); }

std::string words(const std::vector<std::uint32_t>& shape) {
  std::string text = "[";
  for (std::size_t axis = 0; axis < std::min(shape.size(), kMostAxes); ++axis) {
    text += (axis ? ", " : "") + std::to_string(shape[axis]);
  }
  return text + "]";
}

void check_shape(const TensorSpec& tensor) {
  std::uint64_t elements = 1;  // a size of 0 counts as 1: empty tensors must not be huge either
  for (const std::uint32_t size : tensor.shape) {
    elements *= std::max<std::uint64_t>(size, 1);
    if (elements > kMostElements) break;  // and does not overflow
  }
  if (elements > kMostElements || tensor.shape.size() > kMostAxes) {
    throw SpecError(tensor.name + ": got shape " + words(tensor.shape) + ", wanted at most " +
                    std::to_string(kMostAxes) + " axes and " + std::to_string(kMostElements) +
                    " elements");
  }
}

void check_length(const TensorSpec& tensor, const char* what, std::size_t got, bool may_be_short) {
  const std::size_t size = tensor.size();
  if (got == size || (may_be_short && got <= 1)) return;
  throw SpecError(tensor.name + ": " + what + " has " + std::to_string(got) + " entries, wanted " +
                  (may_be_short ? "0, 1 or " : "") + std::to_string(size));
}

void check_whole(const TensorSpec& tensor, const char* what, bool is_legal) {
  if (is_legal && traits(tensor.dtype).is_integer) return;
  throw SpecError(tensor.name + ": " + what + " needs n >= 1 and an integer dtype, got " +
                  name_of(tensor.dtype));
}

void check_bounds(const TensorSpec& tensor, const Box& box) {
  check_length(tensor, "low", box.low.size(), true);
  check_length(tensor, "high", box.high.size(), true);
  const auto is_nan = [](double bound) { return std::isnan(bound); };
  bool is_wrong = std::any_of(box.low.begin(), box.low.end(), is_nan) ||
                  std::any_of(box.high.begin(), box.high.end(), is_nan);
  if (!box.low.empty() && !box.high.empty()) {
    for (std::size_t i = 0; i < std::max(box.low.size(), box.high.size()); ++i) {
      is_wrong |= box.low[box.low.size() == 1 ? 0 : i] > box.high[box.high.size() == 1 ? 0 : i];
    }
  }
  if (is_wrong) throw SpecError(tensor.name + ": a lower bound is not below its upper one");
}

void check_tensor(const TensorSpec& tensor) {
  if (tensor.name.empty()) throw SpecError("a tensor has no name");
  check_shape(tensor);
  if (const auto* box = std::get_if<Box>(&tensor.domain)) {
    check_bounds(tensor, *box);
  } else if (const auto* discrete = std::get_if<Discrete>(&tensor.domain)) {
    check_whole(tensor, "discrete", discrete->n >= 1);
  } else if (const auto* many = std::get_if<MultiDiscrete>(&tensor.domain)) {
    check_length(tensor, "n", many->n.size(), false);
    const bool is_legal = std::find(many->n.begin(), many->n.end(), 0U) == many->n.end();
    check_whole(tensor, "multi_discrete", is_legal);
  }
}

void check_tensors(const char* what, const std::vector<TensorSpec>& tensors) {
  if (tensors.empty()) throw SpecError(std::string(what) + ": got none, wanted at least one");
  std::unordered_set<std::string> names;
  for (const TensorSpec& tensor : tensors) {
    check_tensor(tensor);
    if (!names.insert(tensor.name).second) {
      throw SpecError(std::string(what) + " need distinct names, got " + tensor.name + " twice");
    }
  }
}

double bound(const std::vector<double>& bounds, std::size_t element, double missing) {
  if (bounds.empty()) return missing;
  return bounds.size() == 1 ? bounds[0] : bounds.at(element);
}

}  // namespace

const char* name_of(Dtype dtype) { return traits(dtype).name; }

std::size_t size_of(Dtype dtype) { return traits(dtype).size; }

std::size_t TensorSpec::size() const {
  std::size_t elements = 1;
  for (const std::uint32_t size : shape) elements *= size;
  return elements;
}

double TensorSpec::low(std::size_t element) const {
  const auto* box = std::get_if<Box>(&domain);
  constexpr double none = -std::numeric_limits<double>::infinity();
  return box ? bound(box->low, element, none) : none;
}

double TensorSpec::high(std::size_t element) const {
  const auto* box = std::get_if<Box>(&domain);
  constexpr double none = std::numeric_limits<double>::infinity();
  return box ? bound(box->high, element, none) : none;
}

void check(const TaskSpec& spec) {
  check_tensors("observations", spec.observations);
  check_tensors("actions", spec.actions);
  if (!(spec.discount >= 0.0 && spec.discount <= 1.0)) {
    throw SpecError("got discount " + std::to_string(spec.discount) + ", wanted 0 to 1");
  }
  if (spec.slots < 1) throw SpecError("got 0 slots, wanted 1 or more");
}

}  // namespace reglue
