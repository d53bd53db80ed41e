/// \file
/// What an agent sees and does: TaskSpec, TensorSpec and their domains. Plain values; the wire
/// form is proto/reglue/v1/spec.proto.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "reglue/errors.h"
#include "reglue/export.h"

namespace reglue {

/// Type of one element; numbered as on the wire. Bool is a byte, 0 or 1.
enum class Dtype : std::uint8_t {
  Bool = 1,
  UInt8,
  UInt16,
  UInt32,
  UInt64,
  Int8,
  Int16,
  Int32,
  Int64,
  Float32,
  Float64,
};

/// `float32` and so on.
REGLUE_API const char* name_of(Dtype dtype);

/// Bytes of one element.
REGLUE_API std::size_t size_of(Dtype dtype);

/// Bounds of each element, both inclusive, in the task's units. Either has no number
/// (unbounded), one (for every element), or one for each element, row-major.
struct Box {
  std::vector<double> low, high;
};

/// The integers `start` to `start + n - 1`.
struct Discrete {
  std::uint64_t n = 1;
  std::int64_t start = 0;
};

/// Element i takes 0 to `n[i] - 1`, row-major.
struct MultiDiscrete {
  std::vector<std::uint64_t> n;
};

/// Every element is 0 or 1.
struct MultiBinary {};

/// Which values a tensor takes.
using Domain = std::variant<Box, Discrete, MultiDiscrete, MultiBinary>;

/// One named array.
struct REGLUE_API TensorSpec {
  std::string name;
  Dtype dtype = Dtype::Float64;
  std::vector<std::uint32_t> shape;  ///< of one row, without the axis of slots; empty: a scalar
  Domain domain;

  /// Elements in one row.
  std::size_t size() const;

  /// Bytes of one row on the wire.
  std::size_t row_bytes() const { return size() * size_of(dtype); }

  /// An element's lower bound, -infinity if it has none; only a Box has bounds.
  double low(std::size_t element) const;
  /// Its upper bound; infinity if it has none.
  double high(std::size_t element) const;
};

/// What every episode of a session promises; RL-Glue's task_specification.
struct TaskSpec {
  std::vector<TensorSpec> observations, actions;  ///< at least one each
  double reward_low = -std::numeric_limits<double>::infinity();  ///< of one step, task units
  double reward_high = std::numeric_limits<double>::infinity();
  double discount = 1.0;
  std::uint32_t horizon = 0;          ///< steps to truncation; 0: no limit
  bool continuing = false;            ///< one episode that goes on forever
  bool rewards_in_evaluation = true;  ///< else NaN while phase is Evaluate
  std::uint32_t slots = 1;            ///< S, episodes played at once
  std::string extra;                  ///< what else the environment says of it
};

/// Throws SpecError if it contradicts itself, or has a shape too large for any message; allocates
/// nothing of that size.
REGLUE_API void check(const TaskSpec& spec);

}  // namespace reglue
